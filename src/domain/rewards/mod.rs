//! Rewards: the first watch of the day, decided once.
//!
//! ```text
//! connection ─ known? ─▶ judge ─ asks ─▶ hot store: record, claim, outbox entry in one step
//!                          │ memory: LRU, bitmaps, bloom filters
//! connection ◀─ news ─── judge ◀─ decided ─┘        outbox ─▶ relay ─▶ event bus
//! ```
//!
//! What is remembered here only spares questions: whether somebody was first is decided by the store's own keys.

pub mod arrivals;
pub mod bus_health;
pub mod claim_bell;
pub mod config;
pub mod decisions;
pub mod filling;
pub mod judge;
pub mod memory;
pub mod metrics;
pub mod news;
pub mod relay;
pub mod today;
