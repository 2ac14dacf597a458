//! The metrics of derived counters.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Numbers that a recount has found to be wrong.
    pub differences: Counter,
    /// Counts of all records that have ended well.
    pub recounts: Counter,
    /// 1 while all records are being counted.
    pub counting: Gauge,
}

impl Metrics {
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "counter_differences",
            "Numbers of derived counters that a recount found to be wrong, and repaired; each one is a bug",
            self.differences.clone(),
        );
        registry.register(
            "counter_recounts",
            "Counts of all records for derived counters: of new definitions, and recounts",
            self.recounts.clone(),
        );
        registry.register(
            "counter_counting",
            "1 while all records are being counted, 0 otherwise",
            self.counting.clone(),
        );
    }
}
