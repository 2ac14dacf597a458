//! Whether events are being published, and whether claims can be made.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::storage::event_bus::EventBus;
use crate::storage::outbox::Outbox;

/// How soon it is said that the outbox is full.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub struct BusHealth {
    bus: Arc<dyn EventBus>,
    outbox: Arc<dyn Outbox>,
    /// Entries of the outbox beyond which nothing is claimed.
    outbox_max: u64,
    away: AtomicBool,
    published: Counter,
}

/// What is looked at when somebody asks for metrics.
struct Gauges(Arc<BusHealth>);

impl BusHealth {
    pub fn new(bus: Arc<dyn EventBus>, outbox: Arc<dyn Outbox>, outbox_max: u64, registry: &mut Registry) -> Arc<Self> {
        let health = BusHealth { bus, outbox, outbox_max, away: AtomicBool::new(false), published: Counter::default() };
        let health = Arc::new(health);
        registry.register("events_published", "Events that are on the event bus", health.published.clone());
        registry.register_collector(Box::new(Gauges(health.clone())));
        health
    }

    /// What is not as it should be though nobody who watches notices; each in a few words.
    pub fn degraded(&self) -> Vec<String> {
        let mut degraded = Vec::new();
        if self.is_away() {
            degraded.push("events wait in the outbox".to_owned());
        }
        if self.outbox_is_full() {
            degraded.push("the outbox is full: nothing is claimed".to_owned());
        }
        degraded.extend(self.bus.complaints());
        degraded
    }

    /// So many events are on the bus.
    pub(super) fn published(&self, events: usize) {
        self.published.inc_by(events as u64);
    }

    pub(super) fn has_answered(&self) {
        if self.away.swap(false, Ordering::Relaxed) {
            tracing::info!(entries = self.outbox.len(), "events are published again");
        }
    }

    pub(super) fn is_silent(&self, error: &str) {
        if !self.away.swap(true, Ordering::Relaxed) {
            tracing::error!(error, entries = self.outbox.len(), "events wait in the outbox");
        }
    }

    /// Says when the outbox is full, and when it is not any more.
    pub(super) async fn watch(&self) {
        let mut was_full = false;
        loop {
            let full = self.outbox_is_full();
            match (was_full, full) {
                (false, true) => {
                    tracing::error!(
                        entries = self.outbox_max,
                        "the outbox is full: nothing is claimed (rewards.outbox)"
                    );
                }
                (true, false) => tracing::info!(entries = self.outbox.len(), "claims are made again"),
                _ => {}
            }
            was_full = full;
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The bus does not take events; claims gather in the outbox.
    fn is_away(&self) -> bool {
        self.away.load(Ordering::Relaxed)
    }

    fn outbox_is_full(&self) -> bool {
        self.outbox.len() >= self.outbox_max
    }
}

impl fmt::Debug for Gauges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gauges({:?})", self.0.degraded())
    }
}

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let mut gauge = |name, help, value: u64| {
            let gauge = ConstGauge::new(value as i64);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        let health = &self.0;
        gauge("outbox_entries", "Claims whose events are not published yet", health.outbox.len())?;
        gauge("outbox_full", "1: the outbox has no room, and nothing is claimed", health.outbox_is_full().into())?;
        gauge("event_bus_away", "1: the event bus takes no events, which wait in the outbox", health.is_away().into())?;
        let complaints = health.bus.complaints().len() as u64;
        gauge("event_bus_complaints", "What is wrong with the event bus though it may take events", complaints)
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::relay::tests::{MemoryBus, MemoryOutbox};
    use super::*;

    /// Of a bus that takes everything.
    pub fn healthy() -> Arc<BusHealth> {
        BusHealth::new(MemoryBus::new(), MemoryOutbox::with(0), 10, &mut Registry::default())
    }

    #[test]
    fn what_is_degraded_is_told_and_measured() {
        let mut registry = Registry::with_prefix("heartline");
        let (bus, outbox) = (MemoryBus::new(), MemoryOutbox::with(9));
        let health = BusHealth::new(bus.clone(), outbox.clone(), 10, &mut registry);
        let measured = |name: &str| {
            let mut text = String::new();
            prometheus_client::encoding::text::encode(&mut text, &registry).expect("text");
            let line =
                text.lines().find_map(|line| line.strip_prefix(&format!("heartline_{name} ")).map(str::to_owned));
            line.unwrap_or_else(|| panic!("{name} in {text}"))
        };
        assert_eq!((health.degraded(), measured("outbox_full")), (vec![], "0".to_owned()));
        outbox.add(1);
        assert_eq!(health.degraded(), ["the outbox is full: nothing is claimed"]);
        assert_eq!((measured("outbox_full"), measured("outbox_entries")), ("1".to_owned(), "10".to_owned()));
        health.is_silent("a test");
        *bus.complaints.lock().expect("no panic") = vec!["topic x: is missing".to_owned()];
        let all = ["events wait in the outbox", "the outbox is full: nothing is claimed", "topic x: is missing"];
        assert_eq!(health.degraded(), all);
        assert_eq!((measured("event_bus_away"), measured("event_bus_complaints")), ("1".to_owned(), "1".to_owned()));
        health.has_answered();
        assert_eq!(measured("event_bus_away"), "0");
    }
}
