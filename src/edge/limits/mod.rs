//! The limits of clients: bounds of a connection, rates, and numbers of connections.
//!
//! `deploy/heartline.toml` explains the effect of each bound, with its default.

pub mod config;
pub mod connection_limiter;
pub mod list_limiter;
pub mod quota;
pub mod rates;
