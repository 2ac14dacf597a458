//! The metrics of a history job.

use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use storage::history_bus::source::PackSource;

#[derive(Clone, Default)]
pub struct Metrics {
    pub packs: Counter,
    pub users: Counter,
    pub rows: Counter,
    pub quarantined: Counter,
    pub failures: Counter,
}

/// The lag, read at each scrape.
struct Lag(Arc<dyn PackSource>);

impl std::fmt::Debug for Lag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lag")
    }
}

impl Collector for Lag {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let lag: u64 = self.0.lag().values().sum();
        let gauge = ConstGauge::new(i64::try_from(lag).unwrap_or(i64::MAX));
        let meaning = "Messages of the partitions of this job that are not written to the history store yet";
        gauge.encode(encoder.encode_descriptor("history_job_lag", meaning, None, gauge.metric_type())?)
    }
}

impl Metrics {
    pub fn new(source: Arc<dyn PackSource>, registry: &mut Registry) -> Self {
        let metrics = Metrics::default();
        let Metrics { packs, users, rows, quarantined, failures } = metrics.clone();
        registry.register("history_job_packs", "Packs that were written to the history store", packs);
        let meaning = "Users that were written, after packs that came together were merged";
        registry.register("history_job_users", meaning, users);
        registry.register("history_job_rows", "Rows of contents that were written, merged likewise", rows);
        registry.register(
            "history_job_quarantined",
            "Messages that are no packs, and unsound rows of packs, put into quarantine",
            quarantined,
        );
        let meaning = "Writes to the history store that failed, and were or are tried again";
        registry.register("history_job_failures", meaning, failures);
        registry.register_collector(Box::new(Lag(source)));
        metrics
    }
}
