//! The statistics store keeps totals and days permanently, apart from the hot store.

pub mod config;
mod counters;

use std::sync::Arc;

use futures_util::future::BoxFuture;

use model::ids::Content;
use model::rewards::day::Day;
use model::sums::{Flight, StoredTotal, Unit};

pub use self::counters::CounterStatistics;

pub type Answer<T> = BoxFuture<'static, Result<T, StatisticsAway>>;

/// The statistics store cannot be written or read. Trying again may help; a write may have been done, whole or in part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("statistics store unavailable: {0}")]
pub struct StatisticsAway(pub String);

/// The result of writing a flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Documents that the flight concerns.
    pub documents: usize,
    /// Documents of them that had this flight, or a later one, already.
    pub repeats: usize,
}

impl Written {
    pub fn join(&mut self, other: Written) {
        self.documents += other.documents;
        self.repeats += other.repeats;
    }
}

/// Keeps a document for each content, with its total, one for each content and month, with its days, and one for each
/// key of a derived counter, with its number.
///
/// *Once.* A document keeps, for each unit, the number of the last flight that changed it, written together with its
/// sums. A flight of that number or a lower one changes nothing. So any number of writers may write a flight any number
/// of times, on two conditions: flights of one unit begin in the order of their numbers, and each begins after the one
/// below it is known to be written.
///
/// *Restart.* A flight whose [`SumKey::Views`](model::sums::SumKey::Views) restarts replaces the total and all
/// days of the content. These documents are never removed, because their numbers would go with them.
///
/// *Newest.* Reads see every write that was answered before they were asked.
///
/// All methods may be called from any thread of any runtime.
pub trait Statistics: Send + Sync + 'static {
    /// Answered when all documents of the flight are known to be written, durably. Dropping the future leaves the
    /// outcome unknown; write the whole flight again.
    fn write(&self, flight: Arc<Flight>) -> Answer<Written>;

    /// The totals of these contents, in the order asked, each with the last flight of the unit that changed it.
    fn totals(&self, unit: Unit, contents: Vec<Content>) -> Answer<Vec<StoredTotal>>;

    /// The days from `from` to `to`, both included, that have views, in order.
    fn days(&self, content: Content, from: Day, to: Day) -> Answer<Vec<(Day, u64)>>;
}
