//! Rewards: the first watch of the day, decided once.
//!
//! ```text
//! connection ─ known? ─▶ judge ─ asks ─▶ hot store: record, claim, outbox entry in one step
//!                          │ memory: LRU, bitmaps, bloom filters
//! connection ◀─ news ─── judge ◀─ decided ─┘
//! ```
//!
//! The memory only spares look-ups: the store's own keys decide whether a user is the first.
//! [`outbox`](super::outbox) publishes the claims.

pub mod config;
pub mod connect_lookup;
pub mod decisions;
pub mod filling;
pub mod judge;
pub mod lookup;
pub mod memory;
pub mod metrics;
pub mod service_lookup;
pub mod today;
