//! Derived counters in the statistics store.

use super::{Answer, Statistics};
use model::counters::{CounterId, CounterKey};

/// A statistics store that tells the numbers of derived counters.
///
/// A flight adds to a number as it adds to a total: once. A number is 0 until a flight names it. Numbers of other
/// generations and of other counters do not matter.
///
/// Each answer is of one moment after the question, except that numbers which a flight changes meanwhile may be told
/// partly with it and partly without it.
pub trait CounterStatistics: Statistics {
    /// The numbers of these keys, in the order asked.
    fn counter_values(&self, generation: u32, id: CounterId, keys: Vec<CounterKey>) -> Answer<Vec<i64>>;

    /// The largest numbers of keys that [begin with](CounterKey::begins_with) the parts of `prefix`, at most `limit`;
    /// equal ones in the order of their keys. Zeros are left out.
    fn counter_top(
        &self,
        generation: u32,
        id: CounterId,
        prefix: CounterKey,
        limit: usize,
    ) -> Answer<Vec<(CounterKey, i64)>>;

    /// Numbers in the order of their keys, from the first one beyond `after` on. Zeros are left out. Fewer than `limit`:
    /// these are the last ones.
    fn counter_page(
        &self,
        generation: u32,
        id: CounterId,
        after: Option<CounterKey>,
        limit: usize,
    ) -> Answer<Vec<(CounterKey, i64)>>;

    /// Removes all numbers of a generation, in steps. It may take minutes, and may be repeated after a failure. A flight
    /// that is repeated later may bring some of them back: the number of a generation must never be used again.
    fn drop_generation(&self, generation: u32) -> Answer<()>;
}
