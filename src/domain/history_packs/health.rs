//! Whether packs are being delivered.

use std::sync::Arc;

use crate::failures::{Failures, Trouble};
use model::shard::Region;
use storage::history_bus::HistoryBus;

/// Written by the packer, read by the probes.
pub struct PackHealth {
    bus: Arc<dyn HistoryBus>,
    failures: Failures<Region>,
}

impl PackHealth {
    pub fn new(bus: Arc<dyn HistoryBus>) -> Self {
        PackHealth { bus, failures: Failures::default() }
    }

    /// Problems that no viewer notices, each in a few words.
    pub fn degraded(&self) -> Vec<String> {
        let mut degraded = self.bus.complaints();
        let failure = self.failures.reason();
        degraded.extend(
            failure.map(|why| format!("history packs are not delivered, changes wait in the hot store: {why}")),
        );
        degraded
    }

    /// A pack of the region was not delivered.
    pub(super) fn failed(&self, region: Region, why: String) {
        if self.failures.failed(region, why.clone()) == Some(Trouble::Begins) {
            tracing::error!(
                event = "packs_waiting",
                error = why,
                "history packs are not delivered; changes wait in the hot store"
            );
        }
    }

    /// All packs of the region were delivered, or another gateway carries the region.
    pub(super) fn succeeded(&self, region: Region) {
        if self.failures.succeeded(&region) == Some(Trouble::Ends) {
            tracing::info!(event = "packs_resumed", "history packs are delivered again");
        }
    }
}
