//! The largest values of a counter, read in slices of one snapshot. Keys are stored in their own order, so all of them
//! are read.

use fjall::Snapshot;

use super::tables::DirectTables;
use crate::hot_store::tables::{ReadError, Tables};
use model::counters::top::Top;
use model::counters::{CounterId, CounterKey};

/// Keys in a slice, after which other reads get their turn.
const SLICE_KEYS: usize = 1_024;

pub struct TopScan {
    direct: DirectTables,
    counter: CounterId,
    prefix: CounterKey,
    /// The last key of the slice before.
    after: Option<CounterKey>,
    /// The snapshot of the first slice.
    moment: Option<Snapshot>,
    top: Top,
}

impl TopScan {
    pub fn new(direct: DirectTables, counter: CounterId, prefix: CounterKey, limit: usize) -> Self {
        TopScan { direct, counter, prefix, after: None, moment: None, top: Top::new(limit) }
    }

    /// Reads the next slice. Returns the largest values, the largest first, once all is read.
    pub fn read_slice(&mut self, tables: &Tables) -> Result<Option<Vec<(CounterKey, i64)>>, ReadError> {
        let snapshot = self.moment.take().unwrap_or_else(|| tables.view().into_snapshot());
        let mut left = SLICE_KEYS;
        for state in self.direct.states_of(&snapshot, &self.counter, &self.prefix, self.after.as_ref()).take(left) {
            let (key, state) = state?;
            left -= 1;
            if left == 0 {
                self.after = Some(key.clone());
            }
            self.top.add(key, state.value.unwrap_or_default());
        }
        if left > 0 {
            return Ok(Some(std::mem::take(&mut self.top).into_sorted()));
        }
        self.moment = Some(snapshot);
        Ok(None)
    }
}
