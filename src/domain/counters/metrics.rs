//! The metrics of the counters.

use std::time::Instant;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use model::counters::direct::Added;

/// An operation of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Values,
    Top,
    Add,
    Reset,
    Recount,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

pub struct Metrics {
    done: Counter,
    repeated: Counter,
    bounds: Counter,
    id_reused: Counter,
    crossings: Counter,
    seconds: Vec<Histogram>,
    failures: Vec<Counter>,
}

/// An operation that goes on.
pub struct Measured<'a> {
    began: Instant,
    seconds: &'a Histogram,
}

impl Operation {
    const ALL: [Operation; 5] =
        [Operation::Values, Operation::Top, Operation::Add, Operation::Reset, Operation::Recount];

    pub fn name(self) -> &'static str {
        match self {
            Operation::Values => "values",
            Operation::Top => "top",
            Operation::Add => "add",
            Operation::Reset => "reset",
            Operation::Recount => "recount",
        }
    }
}

impl Metrics {
    pub fn new(registry: &mut Registry) -> Self {
        let additions = Family::<OutcomeLabel, Counter>::default();
        let outcome = |outcome| additions.get_or_create_owned(&OutcomeLabel { outcome });
        let seconds = Family::<Labels, Histogram, _>::new_with_constructor(histogram as fn() -> Histogram);
        let failures = Family::<Labels, Counter>::default();
        let labels = Operation::ALL.map(|operation| Labels { operation: operation.name() });
        let metrics = Metrics {
            done: outcome("done"),
            repeated: outcome("repeated"),
            bounds: outcome("bounds"),
            id_reused: outcome("id_reused"),
            crossings: Counter::default(),
            seconds: labels.iter().map(|labels| seconds.get_or_create_owned(labels)).collect(),
            failures: labels.iter().map(|labels| failures.get_or_create_owned(labels)).collect(),
        };
        registry.register("counter_additions", "Requests to add to a direct counter that were answered", additions);
        let meaning = "Thresholds of direct counters that were crossed; each is an event";
        registry.register("counter_crossings", meaning, metrics.crossings.clone());
        registry.register("counter_seconds", "Time to read or change counters, failures included", seconds);
        registry.register("counter_failures", "Requests about counters that failed", failures);
        metrics
    }

    pub fn added(&self, added: Added) {
        match added {
            Added::Done { crossed, .. } => {
                self.done.inc();
                self.crossings.inc_by(crossed as u64);
            }
            Added::Repeated { .. } => drop(self.repeated.inc()),
            Added::PassesBound { .. } => drop(self.bounds.inc()),
            Added::IdReused => drop(self.id_reused.inc()),
        }
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
