//! Universal counters: numbers by key.

mod metrics;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::statistics::StatisticsAway;
use super::store_error::StoreError;
use model::counters::direct::{Added, DirectCounter};
use model::counters::{CounterId, CounterKey, Recount};

pub use self::metrics::Metrics;

pub type Answer<T> = BoxFuture<'static, Result<T, CountersError>>;

/// Why a counter could not be read or changed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CountersError {
    #[error(transparent)]
    Hot(#[from] StoreError),
    #[error(transparent)]
    Statistics(#[from] StatisticsAway),
    /// A step would cross a threshold, and the outbox has no room for its event. Nothing was changed.
    #[error("outbox full: no step that crosses a threshold is taken")]
    OutboxFull,
    /// It is new, or its definition has changed: it can be read when all records are counted.
    #[error("the counter is being counted")]
    Counting,
}

/// Reads of the counters of one sort, each by its id. All methods may be called from any thread.
pub trait CounterReads: Send + Sync + 'static {
    /// In the order asked; 0, or the initial value, for a key that was never counted.
    fn values(&self, id: CounterId, keys: Vec<CounterKey>) -> Answer<Vec<i64>>;

    /// The largest values of keys that begin with the parts of `prefix`, at most `limit`; equal ones in the order of
    /// their keys. Zeros are left out.
    fn top(&self, id: CounterId, prefix: CounterKey, limit: usize) -> Answer<Vec<(CounterKey, i64)>>;
}

/// Counters that follow from the stored records.
///
/// *Exact.* A record is counted exactly as long as the hot store has it: what changes is added in the step of the commit.
/// Reads see every commit that was answered before they were asked; from the statistics store they may lag by the
/// interval of the flights.
pub trait DerivedCounters: CounterReads {
    /// Counts all records anew, compares, and repairs. Empty `keys`: all of them are compared. The answer names the
    /// recount; one of the counter that has not ended is taken for the same. `now`: milliseconds.
    fn recount(&self, id: CounterId, keys: Vec<CounterKey>, now: u64) -> Answer<String>;

    /// `None`: there is none of this name, or it ended more than 24 hours before `now`.
    fn recounted(&self, name: String, now: u64) -> Answer<Option<(CounterId, Recount)>>;
}

/// How long the id of a request is remembered with its answer.
pub const REMEMBERED: Duration = Duration::from_hours(24);

/// A request to add to a direct counter.
#[derive(Clone, Debug)]
pub struct Addition {
    pub counter: Arc<DirectCounter>,
    pub key: CounterKey,
    /// Not 0.
    pub by: i64,
    /// Names the request among those to the counter, at most 64 bytes.
    pub id: Option<Arc<str>>,
    /// The server's clock, milliseconds.
    pub now: u64,
}

/// Counters that requests change.
///
/// *Atomic.* One step judges the bounds and changes the value, counts the thresholds that it crosses, adds an entry to
/// the [`Outbox`](super::outbox::Outbox) for each, in ascending order, and remembers the id with the answer: all of it or
/// nothing. *Durable* once answered. Steps of one key are done one after the other, and so are their entries published.
///
/// *Once.* An addition with an id is done once in [`REMEMBERED`]. After an error an addition may have been done or not;
/// with its id the same one may be sent again. The backend itself repeats none without an id. An addition that was
/// refused is not remembered.
///
/// Reads see every change that was answered before they were asked. All methods may be called from any thread. Dropping
/// a future leaves the outcome unknown.
pub trait DirectCounters: CounterReads {
    fn add(&self, addition: Addition) -> Answer<Added>;

    /// Back to the initial value. It crosses no threshold. Remembered ids, and how often thresholds were crossed, stay.
    fn reset(&self, id: CounterId, key: CounterKey) -> Answer<()>;
}
