//! The connections of a user, and what reaches them.
//!
//! [`presence`] knows who is connected here; each connection has a [`mailbox`] that anybody may leave something in and
//! only the connection empties, and a [`bell`] that says so; [`fanout`] leaves there what the user's other devices changed.
//! Of several gateways each knows its own connections; [`neighbours`] hears what the others say.

pub mod bell;
pub mod block;
pub mod config;
pub mod fanout;
pub mod mailbox;
pub mod neighbours;
mod newest;
pub mod presence;
pub mod pushes;
