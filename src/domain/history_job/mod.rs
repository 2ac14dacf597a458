//! Brings what has changed from the history bus to the history store.
//!
//! ```text
//! packs ─▶ decoded ─▶ of each user and content the newest ─▶ written ─▶ committed
//!             └─▶ no pack: put into quarantine with its reason ──────▶ committed
//! ```
//!
//! Whatever is written twice, or in another order, changes nothing: the store goes by versions. So a message is
//! committed after it was written, and comes again if this process ends in between. Several jobs share the partitions
//! of the bus. While the store is away a job holds [`WORKERS`](job::WORKERS) batches and reads no more.

mod batch;
pub mod health;
pub mod job;
pub mod metrics;
