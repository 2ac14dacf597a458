//! Whether events are being published, and whether the outbox has room.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::bus_watch::{BusState, BusWatch};
use storage::event_bus::EventBus;
use storage::outbox::Outbox;

/// The interval of looks for a full outbox.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub struct BusHealth {
    bus: Arc<dyn EventBus>,
    outbox: Arc<dyn Outbox>,
    /// The number of entries in the outbox from which no claims are made.
    outbox_max: u64,
    seen: Mutex<Seen>,
    published: Counter,
    refused: Counter,
    unknown: Counter,
}

/// The state that the relay has seen last.
#[derive(Clone, Copy, Default)]
struct Seen {
    state: BusState,
    waiting: usize,
    oldest: Option<Instant>,
    /// As many events wait as are allowed.
    full: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    outcome: &'static str,
}

/// Gauges, read at each scrape.
struct Gauges(Arc<BusHealth>);

impl BusHealth {
    pub fn new(bus: Arc<dyn EventBus>, outbox: Arc<dyn Outbox>, outbox_max: u64, registry: &mut Registry) -> Arc<Self> {
        let failures = Family::<Labels, Counter>::default();
        let failure = |outcome| failures.get_or_create(&Labels { outcome }).clone();
        let (refused, unknown) = (failure("refused"), failure("unknown"));
        let (seen, published) = (Mutex::default(), Counter::default());
        let health = Arc::new(BusHealth { bus, outbox, outbox_max, seen, published, refused, unknown });
        registry.register("events_published", "Events published", health.published.clone());
        registry.register("event_failures", "Events that were not published, and are sent again", failures);
        registry.register_collector(Box::new(Gauges(health.clone())));
        health
    }

    /// Problems that no viewer notices, each in a few words.
    pub fn degraded(&self) -> Vec<String> {
        let mut degraded = Vec::new();
        let seen = self.seen();
        match seen.state {
            BusState::Healthy => {}
            BusState::Blocked => {
                degraded.push("some events wait for the event bus; others are published".to_owned());
            }
            BusState::Away => degraded.push("event bus unavailable: events wait in the outbox".to_owned()),
        }
        if seen.full && seen.state == BusState::Blocked {
            degraded.push("too many events wait for the event bus: all others wait, too".to_owned());
        }
        if self.outbox_is_full() {
            degraded.push("outbox full: reward claims suspended".to_owned());
        }
        degraded.extend(self.bus.complaints());
        degraded
    }

    pub(super) fn published(&self) {
        self.published.inc();
    }

    /// The bus did not take an event.
    pub(super) fn refused(&self) {
        self.refused.inc();
    }

    /// It is not known whether the bus has an event.
    pub(super) fn unknown(&self) {
        self.unknown.inc();
    }

    /// Keeps the state that the relay sees, and logs changes: `waiting` events, the oldest of them since `oldest`;
    /// `full`: no more entries are read from the outbox until some events are published.
    pub(super) fn sees(&self, state: BusState, waiting: usize, oldest: Option<Instant>, full: bool, watch: &BusWatch) {
        let before = std::mem::replace(&mut *self.lock(), Seen { state, waiting, oldest, full });
        let entries = self.outbox.len();
        if before.state != state {
            match before.state {
                BusState::Healthy => {}
                BusState::Blocked => {
                    tracing::info!(event = "events_unblocked", entries, "no event waits for a part of the event bus")
                }
                BusState::Away => tracing::info!(event = "events_resumed", entries, "publishing events again"),
            }
            let error = watch.reason();
            match state {
                BusState::Healthy => {}
                BusState::Blocked => tracing::error!(
                    event = "events_blocked",
                    error,
                    waiting,
                    "some events wait for the event bus; others are published"
                ),
                BusState::Away => tracing::error!(
                    event = "events_suspended",
                    error,
                    entries,
                    "event bus unavailable; events wait in the outbox, retrying"
                ),
            }
        }
        match (before.full, full) {
            (false, true) => tracing::error!(
                event = "relay_full",
                waiting,
                entries,
                "too many events wait for the event bus; all others wait in the outbox until some are published"
            ),
            (true, false) => tracing::info!(event = "relay_resumed", waiting, entries, "reading the outbox again"),
            _ => {}
        }
    }

    fn seen(&self) -> Seen {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock()
    }

    /// Logs when the outbox becomes full, and when it has room again.
    pub(super) async fn watch(&self) {
        let mut was_full = false;
        loop {
            let full = self.outbox_is_full();
            match (was_full, full) {
                (false, true) => {
                    tracing::error!(
                        event = "outbox_full",
                        entries = self.outbox_max,
                        "outbox full; reward claims suspended (rewards.outbox)"
                    );
                }
                (true, false) => {
                    tracing::info!(event = "claims_resumed", entries = self.outbox.len(), "reward claims resumed")
                }
                _ => {}
            }
            was_full = full;
            tokio::time::sleep(LOOK_EVERY).await;
        }
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
        gauge("outbox_entries", "Outbox entries whose events are not published yet", health.outbox.len())?;
        gauge("outbox_full", "1: the outbox is full; reward claims are suspended", health.outbox_is_full().into())?;
        let Seen { state, waiting, oldest, full } = health.seen();
        let (away, blocked) = (state == BusState::Away, state == BusState::Blocked);
        gauge("event_bus_away", "1: the event bus is unavailable; events wait in the outbox", away.into())?;
        gauge("event_bus_blocked", "1: some events wait for the event bus; others are published", blocked.into())?;
        gauge("events_waiting", "Events read from the outbox and not published yet", waiting as u64)?;
        gauge("events_waiting_full", "1: too many events wait; the rest stays in the outbox", full.into())?;
        let age = oldest.map_or(0.0, |oldest| oldest.elapsed().as_secs_f64());
        let oldest = ConstGauge::new(age);
        let help = "Age of the oldest event that was read and is not published yet, since it was read";
        oldest.encode(encoder.encode_descriptor("events_waiting_seconds", help, None, oldest.metric_type())?)?;
        let mut gauge = |name, help, value: u64| {
            let gauge = ConstGauge::new(value as i64);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        let complaints = health.bus.complaints().len() as u64;
        gauge("event_bus_complaints", "Problems of the event bus that do not stop events", complaints)
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::relay::fixture::{MemoryBus, MemoryOutbox};
    use super::*;

    /// The health of a bus that takes all events.
    pub fn healthy() -> Arc<BusHealth> {
        BusHealth::new(MemoryBus::new(), MemoryOutbox::with(0), 10, &mut Registry::default())
    }

    #[test]
    fn a_degraded_bus_is_reported_and_measured() {
        let (mut registry, watch) = (Registry::with_prefix("heartline"), BusWatch::default());
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
        assert_eq!(health.degraded(), ["outbox full: reward claims suspended"]);
        assert_eq!((measured("outbox_full"), measured("outbox_entries")), ("1".to_owned(), "10".to_owned()));
        health.sees(BusState::Away, 3, Some(Instant::now()), false, &watch);
        *bus.complaints.lock() = vec!["topic x: is missing".to_owned()];
        let all = [
            "event bus unavailable: events wait in the outbox",
            "outbox full: reward claims suspended",
            "topic x: is missing",
        ];
        assert_eq!(health.degraded(), all);
        assert_eq!((measured("event_bus_away"), measured("event_bus_complaints")), ("1".to_owned(), "1".to_owned()));
        let long_ago = Instant::now() - Duration::from_secs(60);
        health.sees(BusState::Blocked, 3, Some(long_ago), true, &watch);
        assert_eq!((measured("event_bus_away"), measured("event_bus_blocked")), ("0".to_owned(), "1".to_owned()));
        assert_eq!((measured("events_waiting"), measured("events_waiting_full")), ("3".to_owned(), "1".to_owned()));
        assert!(measured("events_waiting_seconds").starts_with("60."));
        let all = [
            "some events wait for the event bus; others are published",
            "too many events wait for the event bus: all others wait, too",
        ];
        assert_eq!(health.degraded()[..2], all);
        health.sees(BusState::Healthy, 0, None, false, &watch);
        assert_eq!(
            (measured("event_bus_blocked"), measured("events_waiting_seconds")),
            ("0".to_owned(), "0.0".to_owned())
        );
    }
}
