//! The metrics of the history store in Cassandra.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    operation: &'static str,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    Write,
    Read,
}

#[derive(Clone)]
pub struct Metrics {
    rows: Counter,
    expired: Counter,
    seconds: Family<Labels, Histogram>,
    errors: Family<Labels, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        // From 1 ms to 16 s.
        let histogram = || Histogram::new(exponential_buckets(0.001, 2.0, 15));
        let metrics = Metrics {
            rows: Counter::default(),
            expired: Counter::default(),
            seconds: Family::new_with_constructor(histogram),
            errors: Family::default(),
        };
        // Shown as 0 from the start, so that the first one is an increase.
        for operation in [Operation::Write, Operation::Read] {
            drop(metrics.errors.get_or_create(&operation.labels()));
            drop(metrics.seconds.get_or_create(&operation.labels()));
        }
        metrics
    }
}

impl Metrics {
    pub fn register(&self, registry: &mut Registry) {
        registry.register("history_store_rows_written", "Rows written to the history store", self.rows.clone());
        registry.register(
            "history_store_rows_expired",
            "Rows not written to the history store, because they had expired",
            self.expired.clone(),
        );
        registry.register(
            "history_store_request_seconds",
            "Time of a request to the history store that was answered, by operation: write (a batch of one user), read",
            self.seconds.clone(),
        );
        registry.register(
            "history_store_errors",
            "Requests to the history store that failed, by operation",
            self.errors.clone(),
        );
    }

    pub fn written(&self, rows: usize) {
        self.rows.inc_by(rows as u64);
    }

    pub fn expired(&self, rows: usize) {
        self.expired.inc_by(rows as u64);
    }

    pub(super) fn answered(&self, operation: Operation, after: Duration) {
        self.seconds.get_or_create(&operation.labels()).observe(after.as_secs_f64());
    }

    pub(super) fn failed(&self, operation: Operation) {
        self.errors.get_or_create(&operation.labels()).inc();
    }
}

impl Operation {
    fn labels(self) -> Labels {
        let operation = match self {
            Operation::Write => "write",
            Operation::Read => "read",
        };
        Labels { operation }
    }
}
