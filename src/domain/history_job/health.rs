//! Whether packs are being written.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::failures::{Failures, Trouble};
use model::duration_text::of_duration;
use model::retention::Retention;
use storage::history_bus::quarantine::Quarantine;
use storage::history_bus::source::PackSource;

/// Written by the job, read by the probes.
pub struct JobHealth {
    source: Arc<dyn PackSource>,
    quarantine: Arc<dyn Quarantine>,
    failures: Failures<Step>,
    /// The retention of the gateways where it differs from that of this job, and the complaint about it.
    differs: Mutex<Option<(Retention, String)>>,
}

/// Read at each scrape.
struct Waiting(Arc<JobHealth>);

/// The steps of the job that may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The history store is not open.
    Opening,
    /// The batch of this worker is not written, or an unreadable message of it is not in quarantine.
    Batch(usize),
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waiting")
    }
}

impl Collector for Waiting {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let gauge = ConstGauge::new(i64::from(self.0.failures.reason().is_some()));
        let meaning = "1: history is not written, and waits on the bus";
        gauge.encode(encoder.encode_descriptor("history_waiting", meaning, None, gauge.metric_type())?)
    }
}

impl JobHealth {
    pub fn new(source: Arc<dyn PackSource>, quarantine: Arc<dyn Quarantine>) -> Self {
        JobHealth { source, quarantine, failures: Failures::default(), differs: Mutex::default() }
    }

    /// Shows whether anything waits.
    pub fn register(self: &Arc<Self>, registry: &mut Registry) {
        registry.register_collector(Box::new(Waiting(self.clone())));
    }

    /// The current problems, each in a few words.
    pub fn degraded(&self) -> Vec<String> {
        let mut degraded = self.source.complaints();
        degraded.extend(self.quarantine.complaints());
        degraded.extend(self.failures.reason().map(|why| format!("history waits on the bus: {why}")));
        degraded.extend(self.differs.lock().as_ref().map(|(_, why)| why.clone()));
        degraded
    }

    /// A pack names the retention of its gateway. Packs from before a change name the old one.
    pub fn compare(&self, here: Retention, there: Option<Retention>) {
        let Some(there) = there else { return };
        let mut differs = self.differs.lock();
        if differs.as_ref().map_or(here, |(known, _)| *known) == there {
            return;
        }
        *differs = (here != there).then(|| {
            let [own, theirs] = [here, there].map(|retention| of_duration(Duration::from_millis(retention.ms())));
            let why = format!("store.retention: is {own}, and the gateways have {theirs}");
            tracing::error!(event = "retention_differs", why, "set the retention of this job as the gateways have it; until then it keeps rows for the longer of the two");
            (there, why)
        });
    }

    pub fn failed(&self, step: Step, why: String) {
        if self.failures.failed(step, why.clone()) == Some(Trouble::Begins) {
            tracing::error!(event = "history_waiting", error = why, "history is not written; it waits on the bus");
        }
    }

    pub fn succeeded(&self, step: Step) {
        if self.failures.succeeded(&step) == Some(Trouble::Ends) {
            tracing::info!(event = "history_resumed", "history is written again");
        }
    }
}
