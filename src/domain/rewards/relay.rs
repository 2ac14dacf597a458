//! From the outbox to the event bus.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use tokio::sync::Notify;

use crate::model::rewards::claim::Claim;
use crate::storage::event_bus::EventBus;
use crate::storage::outbox::{Outbox, OutboxNumber};

/// Events that are published together.
const BATCH_MAX: usize = 512;
/// Claims that come within so long are published together, since a sync costs the same whatever it carries.
const LINGER: Duration = Duration::from_millis(200);
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(5);

/// Publishes the events of claims, in the order in which the claims were made, at least once each: an entry leaves the
/// outbox when the bus has its event, and not before.
pub struct Relay {
    pub outbox: Arc<dyn Outbox>,
    pub bus: Arc<dyn EventBus>,
    /// Rung when something was claimed.
    pub bell: Arc<Notify>,
    pub health: Arc<BusHealth>,
}

/// Whether events are being published.
#[derive(Debug, Default)]
pub struct BusHealth {
    away: AtomicBool,
    published: Counter,
}

/// The entries of the outbox, counted when somebody looks.
struct OutboxEntries(Arc<dyn Outbox>);

impl BusHealth {
    pub fn new(outbox: Arc<dyn Outbox>, registry: &mut Registry) -> Arc<Self> {
        let health = Arc::new(BusHealth::default());
        registry.register("events_published", "Events that are on the event bus", health.published.clone());
        registry.register_collector(Box::new(OutboxEntries(outbox)));
        health
    }

    /// The bus does not take events; claims gather in the outbox.
    pub fn is_away(&self) -> bool {
        self.away.load(Ordering::Relaxed)
    }
}

impl Relay {
    /// Runs for as long as it is polled.
    pub async fn run(self) {
        let mut published = 0;
        loop {
            published = self.publish_all(published).await;
            self.bell.notified().await;
            tokio::time::sleep(LINGER).await;
        }
    }

    /// Publishes all that is there; `after`: what was published before. Returns when the outbox is empty.
    async fn publish_all(&self, mut after: OutboxNumber) -> OutboxNumber {
        let mut pause = RETRY_FIRST;
        loop {
            match self.publish_next(after).await {
                Ok(Some(last)) => {
                    after = last;
                    pause = RETRY_FIRST;
                    if self.health.away.swap(false, Ordering::Relaxed) {
                        tracing::info!("events are published again");
                    }
                }
                Ok(None) => return after,
                Err(error) => {
                    if !self.health.away.swap(true, Ordering::Relaxed) {
                        tracing::error!(error, entries = self.outbox.len(), "events wait in the outbox");
                    }
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(RETRY_MAX);
                }
            }
        }
    }

    /// Publishes a batch; returns its last entry, if there is one.
    async fn publish_next(&self, after: OutboxNumber) -> Result<Option<OutboxNumber>, String> {
        let entries = self.outbox.read(after, BATCH_MAX).await.map_err(|error| error.to_string())?;
        let (numbers, claims): (Vec<OutboxNumber>, Vec<Claim>) = entries.into_iter().unzip();
        let Some(last) = numbers.last().copied() else { return Ok(None) };
        self.bus.publish(&claims).await.map_err(|error| error.to_string())?;
        self.health.published.inc_by(claims.len() as u64);
        // Whether it is removed or not, it is published: an entry that stays is published once more after a restart.
        if let Err(error) = self.outbox.remove(last).await {
            tracing::warn!(%error, "published events stay in the outbox");
        }
        Ok(Some(last))
    }
}

impl fmt::Debug for OutboxEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OutboxEntries({})", self.0.len())
    }
}

impl Collector for OutboxEntries {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let gauge = ConstGauge::new(self.0.len() as i64);
        let help = "Claims whose events are not published yet";
        gauge.encode(encoder.encode_descriptor("outbox_entries", help, None, gauge.metric_type())?)
    }
}
