//! Metrics of the views.

use std::time::Instant;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::rewards::metrics::ViewsByPlayback;

/// The operations of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Count,
    Totals,
    Days,
    Delete,
    Forget,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByLabel {
    by: &'static str,
}

pub struct Metrics {
    counted: Counter,
    repeated: Counter,
    /// Incremented where beats are committed.
    pub by_playback: ViewsByPlayback,
    seconds: Vec<Histogram>,
    failures: Vec<Counter>,
}

/// A running operation.
pub struct Measured<'a> {
    began: Instant,
    seconds: &'a Histogram,
}

impl Operation {
    const ALL: [Operation; 5] =
        [Operation::Count, Operation::Totals, Operation::Days, Operation::Delete, Operation::Forget];

    pub fn name(self) -> &'static str {
        match self {
            Operation::Count => "count",
            Operation::Totals => "totals",
            Operation::Days => "days",
            Operation::Delete => "delete",
            Operation::Forget => "forget",
        }
    }
}

impl Metrics {
    pub fn new(registry: &mut Registry) -> Self {
        let (counted, repeated) = (Family::<ByLabel, Counter>::default(), Family::<ByLabel, Counter>::default());
        let by = |family: &Family<ByLabel, Counter>, by| family.get_or_create_owned(&ByLabel { by });
        let seconds = Family::<Labels, Histogram, _>::new_with_constructor(histogram as fn() -> Histogram);
        let failures = Family::<Labels, Counter>::default();
        let labels = Operation::ALL.map(|operation| Labels { operation: operation.name() });
        let metrics = Metrics {
            counted: by(&counted, "request"),
            repeated: by(&repeated, "request"),
            by_playback: ViewsByPlayback { counted: by(&counted, "playback"), repeated: by(&repeated, "playback") },
            seconds: labels.iter().map(|labels| seconds.get_or_create_owned(labels)).collect(),
            failures: labels.iter().map(|labels| failures.get_or_create_owned(labels)).collect(),
        };
        registry.register("views_counted", "Views counted", counted);
        let meaning = "Views of sessions that were counted before; by playback, of users who were counted that day";
        registry.register("views_repeated", meaning, repeated);
        registry.register("views_seconds", "Time to count or read views, failures included", seconds);
        registry.register("views_failures", "Views that could not be counted or read", failures);
        metrics
    }

    pub fn viewed(&self, counted: bool) {
        if counted { &self.counted } else { &self.repeated }.inc();
    }

    pub fn begin(&self, operation: Operation) -> Measured<'_> {
        Measured { began: Instant::now(), seconds: &self.seconds[operation as usize] }
    }

    pub fn failed(&self, operation: Operation) {
        self.failures[operation as usize].inc();
    }
}

impl Measured<'_> {
    pub fn observe(self) {
        self.seconds.observe(self.began.elapsed().as_secs_f64());
    }
}

/// From 0.1 ms to the timeout.
fn histogram() -> Histogram {
    Histogram::new([0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 3.0])
}
