//! Conversations without sockets: frames of a client go in, frames of the server come out. Time is an argument.
//! Commits, reads and turns happen when the test says. Each scene checks one promise; random walks, each reproducible
//! from its seed, look for cases that no scene covers.

mod acks;
mod content_names;
mod endings;
mod gateway;
mod holds;
mod operations;
mod peer;
mod script;
mod store;
mod text;
mod time;
mod turns;
mod walk;
mod witness;

use crate::backends::{plain_store, requests};
