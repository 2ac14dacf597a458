//! Conversations without sockets: frames of a client go in, frames of the server come out. Time is an argument.
//! Commits, reads and turns happen when the test says. Each scene checks one promise; random walks, each reproducible
//! from its seed, look for cases that no scene covers.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod acks;
mod endings;
mod gateway;
mod holds;
mod operations;
mod peer;
#[path = "../backends/plain_store.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod plain_store;
#[path = "../backends/plain_user.rs"]
mod plain_user;
#[path = "../backends/requests.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod requests;
mod script;
mod store;
mod text;
mod time;
mod turns;
mod walk;
mod witness;
