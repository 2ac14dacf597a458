//! From the outbox to the event bus: whatever a change has left to be published.
//!
//! ```text
//! commit ─ notify ─▶ relay ─ reads ─▶ waiting events ─ an event for each entry ─▶ event bus
//!                      │ removes ◀─────────────────── a report for each ◀────────────┘
//!                      └─▶ bus watch, bus health: what the operator is told
//! ```
//!
//! It decides nothing, and nothing that a client waits for waits for it.

pub mod bus_health;
mod bus_watch;
mod entry_event;
pub mod relay;
pub mod relay_notify;
mod waiting_events;
