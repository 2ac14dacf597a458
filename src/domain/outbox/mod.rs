//! Publishes the entries of the outbox, which changes have left there, on the event bus.
//!
//! ```text
//! commit ─ notify ─▶ relay ─ reads ─▶ waiting events ─ an event for each entry ─▶ event bus
//!                      │ removes ◀─────────────────── a report for each ◀────────────┘
//!                      └─▶ bus watch, bus health: what the operator is told
//! ```
//!
//! It makes no decisions, and no answer to a client waits for it.

pub mod bus_health;
mod bus_watch;
mod entry_event;
pub mod relay;
pub mod relay_notify;
mod waiting_events;
