//! Brings what has changed from the history bus to the history store.
//!
//! ```text
//! packs ─▶ decoded ─▶ of each user and content the newest ─▶ written ─▶ committed
//!             └─▶ no pack: put into quarantine with its reason ──────▶ committed
//! ```
//!
//! Rows may be written twice or in any order, since the store keeps the newest version. So the offset of a message is
//! committed after its rows were written, and the message is read again if this process ends in between. Several jobs
//! share the partitions of the bus. While the store is away a job holds [`WORKERS`](job::WORKERS) batches and reads no
//! more.

mod batch;
pub mod health;
pub mod job;
pub mod metrics;
