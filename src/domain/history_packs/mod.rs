//! Carries what has changed from the hot store to the history bus.
//!
//! ```text
//! the list: users of a region who are due ─▶ read ─▶ packs of whole rows ─▶ the bus
//!      ▲                                                                      │ all are delivered
//!      └── due again (is being written) ◀── or ──▶ off the list ◀─────────────┘
//! ```
//!
//! A user whose pack is not delivered stays on the list, in the hot store. So memory here is bounded however long the
//! bus is away: at most a few packs of each of [`WORKERS`](packer::WORKERS) regions. Gateways share the regions by
//! leases that expire; two gateways that carry the same user only do the work twice. The [`feed`], if there is one,
//! tells its followers of each delivered pack.

mod batch;
pub mod feed;
pub mod health;
pub mod metrics;
pub mod packer;
mod turns;
mod walk;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod memory_bus;
