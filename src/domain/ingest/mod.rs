//! From a decoded beat to its answer.
//!
//! ```text
//! connection ─ submit ─▶ lane (one per thread; coalesces into slots)
//!                          │ taken by the
//!                        committer (a group for all lanes; retries until it knows)
//!                          │ the answered group, shared
//! connection ◀─ mailbox ─ lane      and then listeners (other devices, …)
//! ```
//!
//! Nothing here knows a codec, a socket or a backend. Bounds: [`lane::Lane::SLOTS_MAX`] uncommitted slots per thread and
//! a setting per connection; when either is reached the connection stops reading its socket until slots drain.

pub mod ack;
pub mod batch;
pub mod coalesce;
pub mod commit;
pub mod health;
pub mod intake;
pub mod lane;
pub mod metrics;
pub mod source;
