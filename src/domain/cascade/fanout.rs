//! From the event bus to the owners' queues.
//!
//! ```text
//! bus ─ a batch of each part ─▶ who has changed, since the last batches ─▶ appends of all that fits, in steps ─▶ commit
//! ```
//!
//! The subscriptions are read after the batch: an owner that was made before an event of it is known then. The offset is
//! committed once all appends are known. An event that is read twice is queued once: a queue knows its offsets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::health::{CascadeHealth, Step};
use super::index::Index;
use super::looks::Looks;
use super::metrics::Metrics;
use super::steps::steps;
use super::turn::Turns;
use model::content_name::ContentIds;
use storage::event_bus::source::{EventSource, PartEvents};
use storage::owner_queues::{Appended, Offer, OwnerQueues, Revision, Wanted};
use storage::store_error::StoreError;

/// Events of several parts that are queued together. With more there is a backlog, in which a part that is left for later
/// has more events for each owner then.
const TOGETHER_MAX: usize = 256;
/// The time in which events are gathered, to be queued together, as long as owners are leased with their events.
const GATHER: Duration = Duration::from_millis(10);

/// The cascade of one topic. Any number of processes may run one; they share the parts of the topic.
pub struct Cascade {
    pub source: Arc<dyn EventSource>,
    pub queues: Arc<dyn OwnerQueues>,
    /// Notified when queues have got events.
    pub queued: Arc<Notify>,
    pub health: Arc<CascadeHealth>,
    pub metrics: Metrics,
    pub turns: Arc<Turns>,
    pub looks: Arc<Looks>,
    /// How events name contents.
    pub ids: ContentIds,
    /// Events that it has not looked at.
    pub lag: Gauge,
}

impl Cascade {
    /// Until the future is dropped.
    pub async fn run(self) {
        let (mut index, mut known) = (Index::of(self.ids), Revision::default());
        loop {
            let next = self.health.repeat(Step::Read, || self.source.next()).await;
            self.lag.set(self.source.lag() as i64);
            self.looks.keep().await;
            let Some(batch) = next else { continue };
            let (batches, is_all) = self.with_more(batch);
            let changes = self.health.repeat(Step::Owners, || self.queues.subscriptions(known.clone())).await;
            known = changes.revision.clone();
            index.change(changes);
            let leased = self.append(&index, &batches, is_all).await;
            for PartEvents { part, to, events, .. } in &batches {
                self.health.repeat(Step::Commit, || self.source.commit(part.clone(), *to)).await;
                self.metrics.events.inc_by(events.len() as u64);
            }
            self.lag.set(self.source.lag() as i64);
            if leased > 0 {
                sleep(GATHER).await;
            }
        }
    }

    /// Adds what was read of other parts: in the same steps it costs little more. False if there is still more.
    fn with_more(&self, batch: PartEvents) -> (Vec<PartEvents>, bool) {
        let (mut count, mut batches) = (batch.events.len(), vec![batch]);
        while count < TOGETHER_MAX {
            let Some(more) = self.source.more() else { return (batches, true) };
            count += more.events.len();
            batches.push(more);
        }
        (batches, false)
    }

    /// Owners that had nothing to do may be leased with their events. Not while there is more: what waits for one owner is
    /// better taken together, once all is there. The number of leases.
    async fn append(&self, index: &Index, batches: &[PartEvents], may_lease: bool) -> usize {
        let mut leased = 0;
        for step in steps(index, batches) {
            leased += self.append_parts(step, may_lease).await;
        }
        leased
    }

    async fn append_parts(&self, parts: Vec<Wanted>, may_lease: bool) -> usize {
        let leased = AtomicUsize::new(0);
        let leases = if may_lease { parts.iter().map(|(_, events)| events.len()).sum() } else { 0 };
        let appended = self.health.repeat(Step::Append, || self.append_once(parts.clone(), leases, &leased)).await;
        self.metrics.appended(&appended);
        leased.into_inner()
    }

    async fn append_once(
        &self,
        parts: Vec<Wanted>,
        leases: usize,
        leased: &AtomicUsize,
    ) -> Result<Appended, StoreError> {
        let mut kept = self.turns.slots.keep(if self.turns.clock_status.is_off() { 0 } else { leases });
        let lease = self.turns.settings.lease();
        let (offer, until) = (Offer { leases: kept.limit().all, lease }, Instant::now() + lease);
        let (appended, given) = self.queues.append_and_take(parts, offer).await;
        leased.fetch_add(given.taken.len(), Ordering::Relaxed);
        self.turns.begin(given.taken, until, &mut kept);
        if given.is_due {
            self.queued.notify_one();
        }
        appended
    }
}
