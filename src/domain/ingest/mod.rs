//! From a decoded beat to its answer.
//!
//! ```text
//! connection ─ submit ─▶ submit queue (one per thread; coalesces into slots, holds steady beats)
//!                          │ taken by the
//!                        committer (a group for all submit queues; retries until it knows)
//!                          │ the answered group, shared
//! connection ◀─ inbox ─ submit queue      and then listeners (other devices, …)
//! ```
//!
//! Nothing here knows a codec, a socket or a backend. Bounds: [`submit_queue::SubmitQueue::WEIGHT_MAX`] uncommitted
//! beats per thread and a setting per connection; when either is reached the connection stops reading its socket until
//! slots drain.

pub mod ack;
pub mod batch;
pub mod coalesce;
pub mod commit;
mod committed;
pub mod completion;
mod deferred;
pub mod health;
pub mod hold_index;
pub mod intake;
pub mod janitor;
pub mod lanes;
pub mod metrics;
pub mod removals;
pub mod source;
pub mod submit_queue;
pub mod unreadable;
pub mod user_trace;
pub mod waiting_slots;
pub mod watch;
