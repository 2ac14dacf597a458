//! Carries sums from the hot store to the statistics store, in numbered flights.
//!
//! ```text
//! pending sums ─take n─▶ flight n, of some shards ─▶ statistics store, each document once ─▶ remove n
//! ```
//!
//! Flights have a bounded size, and follow each other until all that was pending is written.
//! The gateway that holds the lease does this. Correctness does not depend on the lease: a flight that two gateways
//! write counts once.

pub mod flusher;
pub mod metrics;
