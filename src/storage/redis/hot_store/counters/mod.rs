//! Derived counters on Redis. Commits add to the pending sums of their shard, and flights carry these to the statistics
//! store, which answers the reads.
//!
//! ```text
//! settings ─▶ counter worker ─▶ next generation: named in all shards ─▶ walk: each user is counted, under the token
//!                              ─▶ flights are written ─▶ compared with the present one ─▶ read from then on
//! ```

mod compare;
mod derived;
mod jobs;
mod walk;
mod worker;

pub use self::derived::RedisCounters;
pub use self::worker::CounterWorker;
