//! Rewards: the first watch of the day, decided once.
//!
//! ```text
//! connection ─ known? ─▶ judge ─ asks ─▶ hot store: record, claim, outbox entry in one step
//!                          │ memory: LRU, bitmaps, bloom filters
//! connection ◀─ news ─── judge ◀─ decided ─┘
//! ```
//!
//! This memory only spares lookups: whether a user was first is decided by the store's own keys.
//! [`outbox`](super::outbox) publishes what was claimed.

pub mod config;
pub mod connect_lookup;
pub mod decisions;
pub mod filling;
pub mod judge;
pub mod memory;
pub mod metrics;
pub mod reward_notice;
pub mod today;
