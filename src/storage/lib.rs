//! The stores and buses: a folder for each kind, with its guarantees in the folder's `mod.rs` and its backends beside
//! it.

pub mod agreed_settings;
pub mod config;
pub mod content_names;
pub mod counters;
pub mod delivery;
pub mod device_channel;
pub mod endpoint;
pub mod event_bus;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
pub mod gateway_messages;
pub mod history_bus;
pub mod history_store;
pub mod host_port;
pub mod hot_store;
pub mod names;
pub mod notices;
pub mod outbox;
pub mod owner_queues;
pub mod revocation_list;
pub mod statistics;
pub mod store_error;
pub mod stored_content;
pub mod sums;
pub mod turn;
pub mod views;

/// Milliseconds since 1970, by the wall clock or the server's, as the user of it says.
pub type Clock = std::sync::Arc<dyn Fn() -> u64 + Send + Sync>;
