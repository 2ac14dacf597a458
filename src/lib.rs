//! Heartline, a WebSocket gateway that stores playback positions.
//!
//! The tree is the architecture, and imports go one way only:
//!
//! - [`model`]: plain values and rules, no I/O
//! - [`storage`]: a trait per kind of store, its backends beside it
//! - [`domain`]: what the gateway is for: ingest, reads, other devices
//! - [`edge`]: where the world comes in: sockets, protocol, HTTP, admin
//! - [`app`]: builds the parts and wires them; alone names concrete backends
//!
//! Beside them [`cli`] and [`config`] say what is to be run, [`telemetry`] and [`shutdown`] are handed to the parts.

pub mod app;
pub mod cli;
pub mod config;
pub mod domain;
pub mod edge;
pub mod model;
pub mod shutdown;
pub mod storage;
pub mod telemetry;
