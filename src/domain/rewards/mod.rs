//! Rewards: the first watch of the day, decided once.
//!
//! ```text
//! connection ─ known? ─▶ judge ─ asks ─▶ hot store: record, claim, outbox entry in one step
//!                          │ memory: LRU, bitmaps, bloom filters
//! connection ◀─ news ─── judge ◀─ decided ─┘        outbox ─▶ relay ─▶ event bus
//! ```
//!
//! This memory only spares lookups: whether a user was first is decided by the store's own keys.

pub mod bus_health;
mod bus_watch;
pub mod config;
pub mod connect_lookup;
pub mod decisions;
mod entry_event;
pub mod filling;
pub mod judge;
pub mod memory;
pub mod metrics;
pub mod relay;
pub mod relay_notify;
pub mod reward_notice;
pub mod today;
mod waiting_events;
