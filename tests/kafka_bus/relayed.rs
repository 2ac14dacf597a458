//! A relay from an outbox in memory to Kafka.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use heartline::domain::outbox::bus_health::BusHealth;
use heartline::domain::outbox::relay::Relay;
use heartline::domain::outbox::relay_notify::RelayNotify;
use heartline::model::cloud_event::Source;
use heartline::model::outbox_entry::OutboxEntry;
use heartline::model::rewards::claim::Claim;
use heartline::storage::config::kafka::KafkaConfig;
use heartline::storage::hot_store::Answer;
use heartline::storage::outbox::{Outbox, OutboxNumber};
use prometheus_client::registry::Registry;

use crate::kafka_bus::publishing::DEPLOYMENT;
use crate::kafka_bus::{PATIENCE, open};

#[derive(Default)]
struct MemoryOutbox(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    waiting: BTreeMap<OutboxNumber, Claim>,
    last: OutboxNumber,
}

pub struct Relayed {
    outbox: Arc<MemoryOutbox>,
    notify: Arc<RelayNotify>,
    health: Arc<BusHealth>,
    registry: Registry,
}

impl Outbox for MemoryOutbox {
    fn read(&self, after: OutboxNumber, limit: usize) -> Answer<Vec<(OutboxNumber, OutboxEntry)>> {
        let entries = self.0.lock().unwrap();
        let some = entries.waiting.range(after + 1..).take(limit);
        let some = some.map(|(number, claim)| (*number, OutboxEntry::Claim(claim.clone()))).collect();
        Box::pin(async move { Ok(some) })
    }

    fn remove(&self, numbers: Vec<OutboxNumber>) -> Answer<()> {
        let mut entries = self.0.lock().unwrap();
        for number in numbers {
            assert!(entries.waiting.remove(&number).is_some(), "{number} is removed twice");
        }
        Box::pin(async { Ok(()) })
    }

    fn len(&self) -> u64 {
        self.0.lock().unwrap().waiting.len() as u64
    }
}

impl Relayed {
    pub fn start(kafka: &KafkaConfig) -> Self {
        let (outbox, notify, bus) = (Arc::<MemoryOutbox>::default(), Arc::<RelayNotify>::default(), open(kafka));
        let (bus, mut registry) = (Arc::new(bus), Registry::default());
        let health = BusHealth::new(bus.clone(), outbox.clone(), 1_000_000, &mut registry);
        let (source, health_too) = (Source::of(DEPLOYMENT), health.clone());
        let relay = Relay {
            outbox: outbox.clone(),
            bus,
            notify: notify.clone(),
            health: health_too,
            source,
            names: None,
            contents: None,
        };
        tokio::spawn(relay.run());
        Relayed { outbox, notify, health, registry }
    }

    pub fn claim(&self, claims: impl IntoIterator<Item = Claim>) {
        {
            let mut entries = self.outbox.0.lock().unwrap();
            for claim in claims {
                entries.last += 1;
                let number = entries.last;
                entries.waiting.insert(number, claim);
            }
        }
        self.notify.notify(true);
    }

    /// The claims whose events are not published.
    pub fn waiting(&self) -> Vec<Claim> {
        self.outbox.0.lock().unwrap().waiting.values().cloned().collect()
    }

    /// How many these are.
    pub fn backlog(&self) -> u64 {
        self.outbox.len()
    }

    pub fn degraded(&self) -> Vec<String> {
        self.health.degraded()
    }

    pub fn metric(&self, name: &str) -> f64 {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).map(str::parse);
        line.unwrap_or_else(|| panic!("{name} in {text}")).unwrap()
    }

    /// Events that were handed to Kafka again.
    pub fn failures(&self) -> u64 {
        let of = |outcome| self.metric(&format!("event_failures_total{{outcome=\"{outcome}\"}}")) as u64;
        of("refused") + of("unknown")
    }

    pub async fn drained(&self) {
        self.until(|relayed| relayed.outbox.is_empty()).await;
    }

    pub async fn until(&self, holds: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            let entries = self.outbox.len();
            assert!(began.elapsed() < PATIENCE, "{entries} events wait after {PATIENCE:?}: {:?}", self.degraded());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
