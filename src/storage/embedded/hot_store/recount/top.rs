//! The largest numbers of a derived counter, read in slices of one snapshot.

use fjall::Snapshot;

use crate::hot_store::counters::CounterTables;
use crate::hot_store::tables::{ReadError, Tables};
use model::counters::top::Top;
use model::counters::{CounterId, CounterKey, Definitions};

/// Keys in a slice, after which other reads get their turn.
const SLICE_KEYS: usize = 1_024;

/// `None`: the counter is being counted.
pub type Ranked = Option<Vec<(CounterKey, i64)>>;

pub struct TopScan {
    counters: CounterTables,
    counter: CounterId,
    prefix: CounterKey,
    wanted: Option<Definitions>,
    /// The snapshot of the first slice, and its generation.
    moment: Option<(Snapshot, u32)>,
    /// The last key of the slice before.
    after: Option<CounterKey>,
    top: Top,
}

impl TopScan {
    pub fn new(
        counters: CounterTables,
        counter: CounterId,
        prefix: CounterKey,
        limit: usize,
        wanted: Option<Definitions>,
    ) -> Self {
        TopScan { counters, counter, prefix, wanted, moment: None, after: None, top: Top::new(limit) }
    }

    /// Reads the next slice. Returns the largest numbers, the largest first, once all is read.
    pub fn read_slice(&mut self, tables: &Tables) -> Result<Option<Ranked>, ReadError> {
        let (snapshot, generation) = match self.moment.take() {
            Some(moment) => moment,
            None => {
                let snapshot = tables.view().into_snapshot();
                match self.counters.counted(&snapshot, self.wanted.as_ref(), &self.counter)? {
                    Some(generation) => (snapshot, generation),
                    None => return Ok(Some(None)),
                }
            }
        };
        let mut left = SLICE_KEYS;
        let after = self.after.as_ref();
        let numbers = self.counters.numbers_behind(&snapshot, generation, &self.counter, &self.prefix, after);
        for found in numbers.take(left) {
            let (key, number) = found?;
            left -= 1;
            if left == 0 {
                self.after = Some(key.clone());
            }
            self.top.add(key, number);
        }
        if left > 0 {
            return Ok(Some(Some(std::mem::take(&mut self.top).into_sorted())));
        }
        self.moment = Some((snapshot, generation));
        Ok(None)
    }
}
