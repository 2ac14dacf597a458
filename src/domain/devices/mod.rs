//! The connections of a user, and what reaches them.
//!
//! [`presence`] knows who is connected here; each connection has a [`mailbox`] that anybody may leave something in and
//! only the connection empties, and a [`bell`] that says so; [`fanout`] leaves there what the user's other devices changed.

pub mod bell;
pub mod block;
pub mod config;
pub mod fanout;
pub mod mailbox;
pub mod presence;
pub mod pushes;
