//! The connections of a user, and the pushes to them.
//!
//! [`presence`] knows the connections of this gateway. Each connection has an [`inbox`] that any part may put something
//! into and only the connection empties, and a [`ready_list`] that wakes its task. [`fanout`] puts changes by the
//! user's other devices into inboxes. Each gateway knows only its own connections;
//! [`peer_messages`](super::peer_messages) receives changes from other gateways.

pub mod client;
pub mod config;
pub mod fanout;
pub mod gateways;
pub mod inbox;
pub mod kick_list;
mod newest;
pub mod presence;
pub mod pushes;
pub mod ready_list;
pub mod user_counts;
