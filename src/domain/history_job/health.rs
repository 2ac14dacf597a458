//! Whether packs are being written.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::domain::failures::{Failures, Trouble};
use crate::model::duration_text::of_duration;
use crate::model::retention::Retention;
use crate::storage::history_bus::quarantine::Quarantine;
use crate::storage::history_bus::source::PackSource;

/// Written by the job, read by the probes.
pub struct JobHealth {
    source: Arc<dyn PackSource>,
    quarantine: Arc<dyn Quarantine>,
    failures: Failures<Step>,
    /// What the gateways have, where it is not what this job has, and what is wrong with that.
    differs: Mutex<Option<(Retention, String)>>,
}

/// The steps of the job that may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The history store is not open.
    Opening,
    /// The batch of this worker is not written, or an unreadable message of it is not in quarantine.
    Batch(usize),
}

impl JobHealth {
    pub fn new(source: Arc<dyn PackSource>, quarantine: Arc<dyn Quarantine>) -> Self {
        JobHealth { source, quarantine, failures: Failures::default(), differs: Mutex::default() }
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
