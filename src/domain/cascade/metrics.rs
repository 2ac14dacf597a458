//! The metrics of subscribers.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use model::subscribers::FailureReason;
use storage::event_bus::EventTopic;
use storage::owner_queues::{Appended, Totals};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Topic {
    topic: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

#[derive(Clone)]
pub struct Metrics {
    /// Events of the bus that were looked at.
    pub events: Counter,
    lag: Family<Topic, Gauge>,
    queued: Counter,
    repeated: Counter,
    died: Counter,
    pub delivered: Counter,
    /// Requests that succeeded, each with one event or a batch.
    pub deliveries: Counter,
    failures: Family<Reason, Counter>,
    pub age: Histogram,
    pub seconds: Histogram,
    pub workers: Gauge,
    owners: Family<StateLabel, Gauge>,
    failing: Gauge<f64, std::sync::atomic::AtomicU64>,
    depth: Gauge,
    bytes: Gauge,
    dead: Gauge,
    dropped: Gauge,
    waiting: Gauge<f64, std::sync::atomic::AtomicU64>,
}

impl Metrics {
    pub fn new(registry: &mut Registry) -> Self {
        let metrics = Metrics {
            events: Counter::default(),
            lag: Family::default(),
            queued: Counter::default(),
            repeated: Counter::default(),
            died: Counter::default(),
            delivered: Counter::default(),
            deliveries: Counter::default(),
            failures: Family::default(),
            age: ages(),
            seconds: seconds(),
            workers: Gauge::default(),
            owners: Family::default(),
            failing: Gauge::default(),
            depth: Gauge::default(),
            bytes: Gauge::default(),
            dead: Gauge::default(),
            dropped: Gauge::default(),
            waiting: Gauge::default(),
        };
        metrics.register_queues(registry);
        metrics.register_deliveries(registry);
        metrics
    }

    fn register_queues(&self, registry: &mut Registry) {
        let meaning = "Events of the bus that the cascade has not looked at yet, by topic";
        registry.register("cascade_lag", meaning, self.lag.clone());
        self.owners(&Totals::default());
        registry.register("subscribers", "Subscribers, by state", self.owners.clone());
        let meaning =
            "Seconds since the subscriber that has failed for the longest time began to; 0 if none is failing";
        registry.register("subscribers_failing_seconds", meaning, self.failing.clone());
        let mut gauge = |name: &str, meaning: &str, gauge: &Gauge| registry.register(name, meaning, gauge.clone());
        gauge("subscribers_queued_events", "Events in the queues of all subscribers", &self.depth);
        gauge("subscribers_queued_bytes", "Bytes of these events", &self.bytes);
        gauge("subscribers_dead_events", "Events in the dead letters of all subscribers", &self.dead);
        gauge("subscribers_dropped_events", "Events that ever fell out of full dead letters", &self.dropped);
        gauge("subscribers_workers", "Subscribers that are being delivered to by this process", &self.workers);
        let meaning = "Seconds since the subscriber that is due first became due";
        registry.register("subscribers_waiting_seconds", meaning, self.waiting.clone());
    }

    fn register_deliveries(&self, registry: &mut Registry) {
        let mut counter =
            |name: &str, meaning: &str, counter: &Counter| registry.register(name, meaning, counter.clone());
        counter("cascade_events", "Events of the bus that the cascade has looked at", &self.events);
        counter("cascade_queued", "Events queued, each once for each subscriber that wants it", &self.queued);
        counter("cascade_repeated", "Events that were queued already when they were read again", &self.repeated);
        let meaning = "Events that went to the dead letters because a queue was full or they were too old";
        counter("subscribers_died", meaning, &self.died);
        counter("subscribers_delivered", "Events that subscribers have confirmed", &self.delivered);
        counter("subscribers_deliveries", "Requests that subscribers have confirmed", &self.deliveries);
        for reason in FailureReason::ALL {
            drop(self.failures.get_or_create_owned(&Reason { reason: reason.word() }));
        }
        let meaning = "Requests to subscribers that failed, by reason";
        registry.register("subscribers_failures", meaning, self.failures.clone());
        let meaning = "Age of events when a subscriber confirms them, since they were queued";
        registry.register("subscribers_age_seconds", meaning, self.age.clone());
        registry.register(
            "subscribers_seconds",
            "Time of requests to subscribers, failures included",
            self.seconds.clone(),
        );
    }

    /// Events of this topic that the cascade has not looked at.
    pub fn lag(&self, topic: EventTopic) -> Gauge {
        self.lag.get_or_create_owned(&Topic { topic: topic.name() })
    }

    pub fn appended(&self, appended: &Appended) {
        self.queued.inc_by(appended.queued);
        self.repeated.inc_by(appended.old);
        self.died.inc_by(appended.died);
    }

    pub fn died(&self, events: u64) {
        self.died.inc_by(events);
    }

    pub fn failed(&self, reason: FailureReason) {
        self.failures.get_or_create_owned(&Reason { reason: reason.word() }).inc();
    }

    /// `now`: milliseconds since 1970.
    pub fn totals(&self, totals: &Totals, now: u64) {
        self.owners(totals);
        let failing = totals.failing_since.map(|since| Duration::from_millis(now.saturating_sub(since)));
        self.failing.set(failing.unwrap_or_default().as_secs_f64());
        self.depth.set(whole(totals.events));
        self.bytes.set(whole(totals.bytes));
        self.dead.set(whole(totals.dead));
        self.dropped.set(whole(totals.dropped));
        self.waiting.set(Duration::as_secs_f64(&totals.waiting));
    }

    fn owners(&self, totals: &Totals) {
        for (state, owners) in [
            ("active", totals.active()),
            ("failing", totals.failing),
            ("paused", totals.paused),
            ("tries_used_up", totals.tries_used_up),
            ("disabled", totals.disabled),
        ] {
            self.owners.get_or_create_owned(&StateLabel { state }).set(whole(owners));
        }
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// From 10 ms to 3 days.
fn ages() -> Histogram {
    Histogram::new([
        0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3_600.0, 86_400.0, 259_200.0,
    ])
}

/// From 1 ms to the longest timeout.
fn seconds() -> Histogram {
    Histogram::new([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0])
}
