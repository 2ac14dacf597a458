//! Reads of derived counters, and their recounts.

use std::future::ready;
use std::sync::Arc;

use futures_util::FutureExt;

use super::top::TopScan;
use crate::hot_store::EmbeddedStore;
use crate::hot_store::read::Asker;
use model::counters::{CounterId, CounterKey, Definitions, Recount};
use storage::counters::{Answer, CounterReads, CountersError, DerivedCounters, Metrics};

/// The derived counters of a store. As long as this is there, these and no others are counted.
pub struct EmbeddedCounters(Arc<EmbeddedStore>);

impl EmbeddedCounters {
    /// Counts all records in the background for definitions that are new or differ, and drops others.
    pub fn of(store: Arc<EmbeddedStore>, definitions: Definitions) -> Self {
        store.recounter.want(definitions);
        EmbeddedCounters(store)
    }

    pub fn metrics(&self) -> &Metrics {
        self.0.recounter.metrics()
    }
}

impl CounterReads for EmbeddedCounters {
    fn values(&self, id: CounterId, keys: Vec<CounterKey>) -> Answer<Vec<i64>> {
        let (tables, wanted) = (self.0.counters.clone(), self.0.recounter.wanted());
        let answer = self.0.readers.ask(Asker::Gateway, move |view| {
            let Some(generation) = tables.counted(&view.snapshot, wanted.as_ref(), &id)? else { return Ok(None) };
            let number = |key| tables.number(&view.snapshot, generation, &id, key);
            keys.iter().map(number).collect::<Result<Vec<_>, _>>().map(Some)
        });
        Box::pin(answer.map(|answer| answer?.ok_or(CountersError::Counting)))
    }

    fn top(&self, id: CounterId, prefix: CounterKey, limit: usize) -> Answer<Vec<(CounterKey, i64)>> {
        let mut scan = TopScan::new(self.0.counters.clone(), id, prefix, limit, self.0.recounter.wanted());
        let answer = self.0.readers.ask_in_slices(Asker::Gateway, move |tables| scan.read_slice(tables));
        Box::pin(answer.map(|answer| answer?.ok_or(CountersError::Counting)))
    }
}

impl DerivedCounters for EmbeddedCounters {
    fn recount(&self, id: CounterId, keys: Vec<CounterKey>, now: u64) -> Answer<String> {
        Box::pin(ready(self.0.recounter.recount(id, keys, now).map_err(CountersError::Hot)))
    }

    fn recounted(&self, name: String, now: u64) -> Answer<Option<(CounterId, Recount)>> {
        Box::pin(ready(Ok(self.0.recounter.recounted(&name, now))))
    }
}
