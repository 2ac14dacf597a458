//! Heartline, a WebSocket gateway that stores playback positions.
//!
//! The tree is the architecture, and imports go one way only. Each layer is a crate:
//!
//! - [`model`]: plain values and rules, no I/O
//! - [`storage`]: a trait for each kind of store; each driver is a crate below it
//! - [`domain`]: what the gateway is for: ingest, reads, other devices
//! - [`edge`]: where the world comes in: sockets, protocol, HTTP, admin
//! - [`app`]: builds the parts and wires them; alone names concrete backends
//!
//! Beside them [`cli`] and [`config`] say what is to be run, [`telemetry`] is handed to the parts.

pub mod app;
pub mod cli;
pub mod config;
pub mod telemetry;

pub use {domain, edge, model, storage, storage_embedded, storage_http};
#[cfg(feature = "fleet")]
pub use {storage_cassandra, storage_kafka, storage_mongodb, storage_redis, storage_remote};
