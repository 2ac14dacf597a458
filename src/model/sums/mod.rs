//! Sums on their way to the statistics store.
//!
//! Counts of a shard are added up there as *pending* sums. At intervals they become a *flight*: the sums of shards under
//! one number, written to the store and then removed. If too much is pending for one flight, others follow. Writing a
//! flight again changes nothing, because each document keeps the number of the last flight that changed it.

mod counter_sum;
mod flight;
mod no_sum_key;
mod shard_sums;
mod sum;

pub use self::counter_sum::CounterSum;
pub use self::flight::{Flight, FlightNumber, Unit};
pub use self::no_sum_key::NoSumKey;
pub use self::shard_sums::{ShardSums, StoredTotal};
pub use self::sum::{Sum, SumKey};
