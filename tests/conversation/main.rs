//! Conversations without sockets: what a client says goes in, what it is told comes out. Time is an argument, and
//! whoever commits, reads and takes turns beside it does so when the test says. Scenes tell of one promise each; a
//! random walk, of which each follows from a seed, looks for what nobody thought of.

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
