//! What everything has in common that speaks to Kafka.
//!
//! ```text
//! producer → the library's queue → brokers, acks=all → a report for each message → its receipt
//! watch    → a topic: is it there, has it the copies that were promised?         → complaints
//! ```
//!
//! **Failure.** Each message has a result of its own. The library keeps one whose partition has no leader, and sends it
//! when there is one; all others go on. After `kafka.delivery_timeout` it is given up, and what became of it is not
//! known. An error that the library cannot get over ends its producer, and a new one begins.

pub mod client;
pub mod config;
pub mod last_error;
mod polled;
pub mod producer;
mod reports;
pub mod topic;
pub mod watch;
