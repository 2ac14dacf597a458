//! What keeps things: a folder for each kind of store, its promises in the folder's `mod.rs`, its backends beside it.

pub mod delivery;
pub mod device_channel;
pub mod embedded;
pub mod event_bus;
pub mod history_bus;
pub mod history_store;
pub mod host_port;
pub mod hot_store;
pub mod kafka;
pub mod outbox;
pub mod redis;
pub mod revocation_list;
pub mod store_error;
pub mod stored_content;
