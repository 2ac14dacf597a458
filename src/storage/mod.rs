//! The stores and buses: a folder for each kind, with its guarantees in the folder's `mod.rs` and its backends beside
//! it.

pub mod agreed_settings;
pub mod counters;
pub mod delivery;
pub mod device_channel;
pub mod embedded;
pub mod endpoint;
pub mod event_bus;
pub mod gateway_messages;
pub mod history_bus;
pub mod history_store;
pub mod host_port;
pub mod hot_store;
pub mod kafka;
pub mod notices;
pub mod outbox;
pub mod owner_queues;
pub mod redis;
pub mod revocation_list;
pub mod statistics;
pub mod store_error;
pub mod stored_content;
pub mod sums;
pub mod turn;
pub mod views;
