//! Whether packs are being written.

use std::sync::Arc;

use crate::domain::failures::{Failures, Trouble};
use crate::storage::history_bus::quarantine::Quarantine;
use crate::storage::history_bus::source::PackSource;

/// Written by the job, read by the probes.
pub struct JobHealth {
    source: Arc<dyn PackSource>,
    quarantine: Arc<dyn Quarantine>,
    failures: Failures<Step>,
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
        JobHealth { source, quarantine, failures: Failures::default() }
    }

    /// The current problems, each in a few words.
    pub fn degraded(&self) -> Vec<String> {
        let mut degraded = self.source.complaints();
        degraded.extend(self.quarantine.complaints());
        degraded.extend(self.failures.reason().map(|why| format!("history waits on the bus: {why}")));
        degraded
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
