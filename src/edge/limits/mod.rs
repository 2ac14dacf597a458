//! What clients may take: bounds of a connection, rates, and how many connections there may be.
//!
//! What happens at each bound is said, with its default, in `deploy/heartline.toml`.

pub mod config;
pub mod connection_limiter;
pub mod list_limiter;
pub mod quota;
pub mod rates;
