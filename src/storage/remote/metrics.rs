//! The metrics of history services.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

#[derive(Clone)]
pub struct Metrics {
    pub services: Gauge,
    seconds: Histogram,
    pub failures: Counter,
    pub dropped: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];
        Metrics {
            services: Gauge::default(),
            seconds: Histogram::new(bounds),
            failures: Counter::default(),
            dropped: Counter::default(),
        }
    }
}

impl Metrics {
    pub fn register(&self, registry: &mut Registry) {
        registry.register("history_services", "History services that this gateway uses", self.services.clone());
        let help = "Time of a call that carries changes to a history service, failed ones included";
        registry.register("history_service_commit_seconds", help, self.seconds.clone());
        let help = "Calls to history services without an answer";
        registry.register("history_service_failures", help, self.failures.clone());
        let help = "Messages of history services that could not be read";
        registry.register("history_service_unreadable", help, self.dropped.clone());
    }

    pub fn committed(&self, took: Duration, is_answered: bool) {
        self.seconds.observe(took.as_secs_f64());
        if !is_answered {
            self.failures.inc();
        }
    }
}
