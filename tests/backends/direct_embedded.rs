//! The direct counters of the embedded store as a backend.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use heartline::model::counters::CounterKey;
use heartline::model::counters::direct::{Added, DirectCounter, DirectDefinitions};
use heartline::model::outbox_entry::OutboxEntry;
use heartline::storage::counters::{Addition, CounterReads, DirectCounters};
use heartline::storage::outbox::Outbox;
use heartline::storage_embedded::hot_store::EmbeddedDirect;

use crate::backends::direct_counters::DirectBackend;
use crate::backends::embedded::{Embedded, JOURNAL};
use crate::backends::requests::{Backend, NOW, ROOMY, wait};
use crate::support::depth::depth;

pub struct EmbeddedCounters {
    // Ends before its store does.
    counters: Arc<EmbeddedDirect>,
    backend: Embedded,
}

impl EmbeddedCounters {
    fn of(backend: Embedded, definitions: Arc<DirectDefinitions>) -> Self {
        let counters = EmbeddedDirect::open(backend.embedded(), definitions, Self::ROOM as u64).unwrap();
        EmbeddedCounters { counters: Arc::new(counters), backend }
    }
}

impl DirectBackend for EmbeddedCounters {
    const ROOM: usize = 1_000;

    fn empty(definitions: Arc<DirectDefinitions>) -> Self {
        Self::of(Embedded::fresh(ROOMY), definitions)
    }

    fn counters(&self) -> Arc<dyn DirectCounters> {
        self.counters.clone()
    }

    fn outbox(&self) -> Arc<dyn Outbox> {
        self.backend.outbox()
    }

    fn reopened(self, definitions: Arc<DirectDefinitions>) -> Self {
        let EmbeddedCounters { counters, mut backend } = self;
        drop(counters);
        backend.reopen(ROOMY);
        Self::of(backend, definitions)
    }
}

/// What was done by then of the steps of one key: they add one each, and each crosses a threshold.
#[test]
fn a_journal_torn_anywhere_ends_with_whole_steps() {
    const STEPS: i64 = 20;
    let thresholds: Vec<i64> = (1..=STEPS).collect();
    let id = "likes".parse().unwrap();
    let counter = DirectCounter { id, key: Vec::new(), min: 0, max: 1_000, initial: 0, thresholds };
    let definitions = Arc::new(DirectDefinitions::new([counter]));
    let addition = |step: i64| Addition {
        counter: definitions.all().next().unwrap().clone(),
        key: CounterKey::default(),
        by: 1,
        id: Some(step.to_string().into()),
        now: NOW,
    };
    let counting = EmbeddedCounters::of(Embedded::fresh(ROOMY), definitions.clone());
    let mut ends = Vec::new();
    for step in 1..=STEPS {
        let added = wait(counting.counters.add(addition(step))).unwrap();
        assert_eq!(added, Added::Done { value: step, crossed: 1 });
        let written = fs::read(counting.backend.path().join(JOURNAL)).unwrap();
        ends.push(written.iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1);
    }
    for cut in (ends[0]..ends[STEPS as usize - 1]).step_by(depth(111, 37)).chain(ends.iter().copied()) {
        let torn = EmbeddedCounters::of(counting.backend.torn_at(cut), definitions.clone());
        let done = ends.iter().filter(|end| **end <= cut).count() as i64;
        let value = wait(torn.counters.values("likes".parse().unwrap(), vec![CounterKey::default()])).unwrap();
        assert_eq!(value, [done], "cut at {cut}");
        let entries = wait(torn.outbox().read(0, usize::MAX)).unwrap();
        let crossed = entries.into_iter().filter_map(|(_, entry)| match entry {
            OutboxEntry::Crossing(crossing) => Some(crossing.threshold),
            OutboxEntry::Claim(_) => None,
        });
        assert_eq!(crossed.collect::<BTreeSet<_>>(), (1..=done).collect(), "cut at {cut}");
        for step in 1..=STEPS {
            let expected =
                if step <= done { Added::Repeated { value: step } } else { Added::Done { value: step, crossed: 1 } };
            assert_eq!(wait(torn.counters.add(addition(step))).unwrap(), expected, "cut at {cut}");
        }
    }
}
