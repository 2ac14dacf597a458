//! Whether packs are being written.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::storage::history_bus::quarantine::Quarantine;
use crate::storage::history_bus::source::PackSource;

/// Told by the job, read by whoever answers for the process.
pub struct JobHealth {
    source: Arc<dyn PackSource>,
    quarantine: Arc<dyn Quarantine>,
    /// Why the last batch was not written, or not put into quarantine; `None`: it was.
    failure: Mutex<Option<String>>,
}

impl JobHealth {
    pub fn new(source: Arc<dyn PackSource>, quarantine: Arc<dyn Quarantine>) -> Self {
        JobHealth { source, quarantine, failure: Mutex::default() }
    }

    /// What is wrong; each in a few words.
    pub fn degraded(&self) -> Vec<String> {
        let mut degraded = self.source.complaints();
        degraded.extend(self.quarantine.complaints());
        if let Some(why) = &*self.failure.lock() {
            degraded.push(format!("history waits on the bus: {why}"));
        }
        degraded
    }

    /// Says what has changed.
    pub fn sees(&self, failure: Option<String>) {
        let mut known = self.failure.lock();
        match (&*known, &failure) {
            (None, Some(why)) => {
                tracing::error!(event = "history_waiting", error = why, "history is not written; it waits on the bus")
            }
            (Some(_), None) => tracing::info!(event = "history_resumed", "history is written again"),
            _ => {}
        }
        *known = failure;
    }
}
