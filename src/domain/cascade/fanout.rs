//! From the event bus to the owners' queues.
//!
//! ```text
//! bus ─ a batch of one part ─▶ who has changed, since the last batch ─▶ one append of all that fits ─▶ commit
//! ```
//!
//! The subscriptions are read after the batch: an owner that was made before an event of it is known then. The offset is
//! committed once all appends are known. An event that is read twice is queued once: a queue knows its offsets.

use std::sync::Arc;

use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::Notify;

use super::health::{CascadeHealth, Step};
use super::index::Index;
use super::metrics::Metrics;
use crate::model::subscribers::Facts;
use crate::storage::event_bus::Offset;
use crate::storage::event_bus::source::{EventSource, PartEvents};
use crate::storage::owner_queues::{Append, OwnerQueues, Revision, Subscription};

/// Events that one call appends; a batch that many owners want takes several calls.
const APPENDS_MAX: usize = 2_048;

/// Of one topic. Any number of processes may run one; they share the parts of the topic.
pub struct Cascade {
    pub source: Arc<dyn EventSource>,
    pub queues: Arc<dyn OwnerQueues>,
    /// Notified when queues have got events.
    pub queued: Arc<Notify>,
    pub health: Arc<CascadeHealth>,
    pub metrics: Metrics,
    /// Events that it has not looked at.
    pub lag: Gauge,
}

impl Cascade {
    /// Until the future is dropped.
    pub async fn run(self) {
        let (mut index, mut known) = (Index::default(), Revision::default());
        loop {
            let next = self.health.repeat(Step::Read, || self.source.next()).await;
            self.lag.set(self.source.lag() as i64);
            let Some(batch) = next else { continue };
            let changes = self.health.repeat(Step::Owners, || self.queues.subscriptions(known.clone())).await;
            known = changes.revision.clone();
            index.change(changes);
            self.append(&index, &batch).await;
            self.health.repeat(Step::Commit, || self.source.commit(batch.part.clone(), batch.to)).await;
            self.metrics.events.inc_by(batch.events.len() as u64);
            self.lag.set(self.source.lag() as i64);
        }
    }

    async fn append(&self, index: &Index, batch: &PartEvents) {
        for events in appends(index, batch).chunks(APPENDS_MAX) {
            let appended =
                self.health.repeat(Step::Append, || self.queues.append(batch.part.clone(), events.to_vec())).await;
            self.metrics.appended(&appended);
            if appended.queued > 0 {
                self.queued.notify_one();
            }
        }
    }
}

/// One for each event and owner that wants it, in the order of the events.
fn appends(index: &Index, batch: &PartEvents) -> Vec<Append> {
    if index.is_empty() {
        return Vec::new();
    }
    let of_event = |(offset, event): &(Offset, Arc<str>)| -> Vec<Append> {
        let Some(facts) = Facts::of(event) else { return Vec::new() };
        let append = |owner: &Arc<Subscription>| Append {
            owner: owner.id.clone(),
            incarnation: owner.incarnation,
            offset: *offset,
            event: event.clone(),
        };
        index.wanting(&facts).into_iter().map(append).collect()
    };
    batch.events.iter().flat_map(of_event).collect()
}
