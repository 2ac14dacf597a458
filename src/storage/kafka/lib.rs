//! The common parts of all clients of Kafka.
//!
//! ```text
//! producer → the library's queue → brokers, acks=all → a report for each message → its receipt
//! watch    → a topic: is it there, has it the copies that were promised?         → complaints
//! ```
//!
//! **Failure.** Each message has a result of its own. The library keeps a message whose partition has no leader, and
//! sends it when there is one; all others go on. After `kafka.delivery_timeout` the message is given up, with an
//! unknown outcome. A fatal error of the library ends its client, and a new one begins; so does a minute in
//! which a client gets nothing done: [`liveness`].

pub mod client;
pub mod event_bus;
pub mod history_bus;
pub mod last_error;
pub mod liveness;
mod polled;
pub mod producer;
mod reports;
pub mod topic;
pub mod unread;
pub mod watch;
