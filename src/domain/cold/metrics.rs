//! The metrics of reading the history store for records that have left the hot store.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    outcome: &'static str,
}

/// The outcome of a cold read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColdOutcome {
    /// The history store was read for it, or was being read.
    Read,
    /// The rows had been read before.
    Kept,
    /// It took too long, or failed.
    Away,
    /// The store has not answered lately, and was not asked.
    Refused,
}

impl ColdOutcome {
    const ALL: [ColdOutcome; 4] = [ColdOutcome::Read, ColdOutcome::Kept, ColdOutcome::Away, ColdOutcome::Refused];

    fn word(self) -> &'static str {
        match self {
            ColdOutcome::Read => "read",
            ColdOutcome::Kept => "kept",
            ColdOutcome::Away => "away",
            ColdOutcome::Refused => "refused",
        }
    }
}

#[derive(Clone)]
pub struct Metrics {
    reads: Family<Labels, Counter>,
    seconds: Histogram,
    /// Contents that the filter named, and that the history store does not have.
    pub filter_misses: Counter,
    /// Changes that wait for the history store.
    pub late_changes: Gauge,
    /// Users who were read for the first time after a rebuild.
    pub heads_made: Counter,
}

impl Metrics {
    pub fn new(registry: &mut Registry) -> Arc<Self> {
        let metrics = Metrics::unregistered();
        let Metrics { reads, seconds, filter_misses, late_changes, heads_made } = metrics.clone();
        ColdOutcome::ALL.iter().for_each(|outcome| drop(reads.get_or_create(&Labels { outcome: outcome.word() })));
        let meaning = "Reads of records that have left the hot store, by outcome: read, kept (read in the last minute), away \
                       (answered with partial), refused (likewise, since the history store has not answered lately)";
        registry.register("cold_reads", meaning, reads);
        registry.register(
            "cold_read_seconds",
            "Time to read a user from the history store, failed reads included",
            seconds,
        );
        let meaning = "Contents that a cold filter had, and the history store had not";
        registry.register("cold_filter_misses", meaning, filter_misses);
        let meaning = "Late beats and deletes that wait until the history store was read";
        registry.register("late_changes", meaning, late_changes);
        let meaning = "Users who were read from the history store for the first time since Redis was rebuilt";
        registry.register("heads_made", meaning, heads_made);
        Arc::new(metrics)
    }

    pub fn unregistered() -> Self {
        Metrics {
            reads: Family::default(),
            seconds: Histogram::new([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0]),
            filter_misses: Counter::default(),
            late_changes: Gauge::default(),
            heads_made: Counter::default(),
        }
    }

    pub(super) fn ended(&self, outcome: ColdOutcome) {
        self.reads.get_or_create(&Labels { outcome: outcome.word() }).inc();
    }

    pub(super) fn took(&self, took: Duration) {
        self.seconds.observe(took.as_secs_f64());
    }

    #[cfg(test)]
    pub(super) fn count(&self, outcome: ColdOutcome) -> u64 {
        self.reads.get_or_create(&Labels { outcome: outcome.word() }).get()
    }
}
