//! The connections of a user, and what reaches them.
//!
//! [`presence`] knows who is connected here; each connection has an [`inbox`] that any part may leave something in and
//! only the connection empties, and a [`ready_list`] that says so; [`fanout`] leaves there what the user's other
//! devices changed. Of several gateways each knows its own connections; [`peer_messages`](super::peer_messages) hears
//! what the others say.

pub mod client;
pub mod config;
pub mod fanout;
pub mod inbox;
pub mod kick_list;
mod newest;
pub mod presence;
pub mod pushes;
pub mod ready_list;
