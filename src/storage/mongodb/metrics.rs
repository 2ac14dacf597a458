//! Metrics of the statistics store in MongoDB.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    request: &'static str,
    outcome: &'static str,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Request {
    /// The check of the database before its first use.
    Check,
    /// Up to [`super::write::BATCH_STATEMENTS_MAX`] documents of a flight.
    Write,
    /// The stored months of a deleted content.
    Months,
    Totals,
    Days,
    /// Numbers of counters by their keys.
    Counters,
    /// The largest numbers of a counter.
    Top,
    /// Numbers of a counter in the order of their keys.
    Page,
    /// A part of a generation of counters, to find it or to remove it.
    Drop,
}

#[derive(Clone)]
pub struct Metrics {
    seconds: Family<Labels, Histogram>,
    documents: Counter,
    repeats: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        // From 1 ms to 32 s, longer than the timeout of a request.
        let histogram = || Histogram::new(exponential_buckets(0.001, 2.0, 16));
        let metrics = Metrics {
            seconds: Family::new_with_constructor(histogram),
            documents: Counter::default(),
            repeats: Counter::default(),
        };
        // Registered as 0, so that the first request shows as an increase.
        for request in Request::ALL {
            for is_good in [true, false] {
                drop(metrics.seconds.get_or_create(&request.labels(is_good)));
            }
        }
        metrics
    }
}

impl Metrics {
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "statistics_request_seconds",
            "Time of a request to the statistics store, by request: check, write, months, totals, days, counters, top, page, \
             drop; and outcome: ok, failed",
            self.seconds.clone(),
        );
        registry.register(
            "statistics_documents_written",
            "Documents that flights were written to in the statistics store, repeats not included",
            self.documents.clone(),
        );
        registry.register(
            "statistics_documents_repeated",
            "Documents that a flight was not written to, since they had it already",
            self.repeats.clone(),
        );
    }

    pub(super) fn written(&self, documents: usize, repeats: usize) {
        self.documents.inc_by((documents - repeats) as u64);
        self.repeats.inc_by(repeats as u64);
    }

    pub(super) fn requested(&self, request: Request, is_good: bool, after: Duration) {
        self.seconds.get_or_create(&request.labels(is_good)).observe(after.as_secs_f64());
    }
}

impl Request {
    const ALL: [Request; 9] = [
        Request::Check,
        Request::Write,
        Request::Months,
        Request::Totals,
        Request::Days,
        Request::Counters,
        Request::Top,
        Request::Page,
        Request::Drop,
    ];

    /// The timeout of the request, with the wait for a connection.
    ///
    /// Clients wait for the answer to a read. A write may take longer: a write that was given up too early is repeated,
    /// so that a slow store would get more work and never finish it.
    pub(super) const fn timeout(self) -> Duration {
        match self {
            Request::Write | Request::Drop => Duration::from_secs(20),
            _ => Duration::from_secs(5),
        }
    }

    fn labels(self, is_good: bool) -> Labels {
        let request = match self {
            Request::Check => "check",
            Request::Write => "write",
            Request::Months => "months",
            Request::Totals => "totals",
            Request::Days => "days",
            Request::Counters => "counters",
            Request::Top => "top",
            Request::Page => "page",
            Request::Drop => "drop",
        };
        Labels { request, outcome: if is_good { "ok" } else { "failed" } }
    }
}
