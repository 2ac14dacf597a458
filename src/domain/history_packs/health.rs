//! Whether packs are being delivered.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::storage::history_bus::HistoryBus;

/// Told by the packer, read by whoever answers for the gateway.
pub struct PackHealth {
    bus: Arc<dyn HistoryBus>,
    /// Why the last pack was not delivered; `None`: it was.
    failure: Mutex<Option<String>>,
}

impl PackHealth {
    pub fn new(bus: Arc<dyn HistoryBus>) -> Self {
        PackHealth { bus, failure: Mutex::default() }
    }

    /// What is wrong although no viewer notices it; each in a few words.
    pub fn degraded(&self) -> Vec<String> {
        let mut degraded = self.bus.complaints();
        if let Some(why) = &*self.failure.lock() {
            degraded.push(format!("history packs are not delivered, changes wait in the hot store: {why}"));
        }
        degraded
    }

    /// `failure`: why a pack was not delivered. Says what has changed.
    pub(super) fn sees(&self, failure: Option<String>) {
        let mut known = self.failure.lock();
        match (&*known, &failure) {
            (None, Some(why)) => {
                tracing::error!(
                    event = "packs_waiting",
                    error = why,
                    "history packs are not delivered; changes wait in the hot store"
                )
            }
            (Some(_), None) => tracing::info!(event = "packs_resumed", "history packs are delivered again"),
            _ => {}
        }
        *known = failure;
    }
}
