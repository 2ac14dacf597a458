//! Events in a topic of Kafka, in the binary mode of CloudEvents, keyed by user.
//!
//! ```text
//! publish → the library's queue → brokers, acks=all → a report for each event → its receipt
//! watch   → the topic: is it there, has it the copies that were promised?     → complaints
//! ```
//!
//! **Order.** Events of one user are in one partition, in the order of their claims: the first of each, that is. Whoever
//! publishes hands over a user's event when the one before it has been reported, so that nothing can overtake it, whatever
//! is repeated.
//!
//! **Failure.** Each event has a result of its own. The library keeps one whose partition has no leader, and sends it when
//! there is one; all others go on. After `kafka.delivery_timeout` it is given up, and what became of it is not known. An
//! error that the library cannot get over ends its producer, and a new one begins.
//!
//! **Memory.** [`client::QUEUE_EVENTS_MAX`] events and [`client::QUEUE_KIB_MAX`] KiB; more is an error.

mod client;
pub mod config;
mod last_error;
mod message;
mod topic;
mod watch;

use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseRecord, Producer as _};

use self::client::{Producer, Reports};
use self::config::KafkaConfig;
use self::last_error::LastError;
use self::message::Message;
use self::topic::Topic;
use self::watch::TopicWatch;
use super::EventBus;
use super::cloud_event::{CloudEvent, Source};
use super::config::Config;
use super::delivery::{Delivery, Event};

/// The client library refuses its settings, or cannot start.
#[derive(Debug, thiserror::Error)]
#[error("cannot publish events to Kafka: {0}; correct [kafka], or set events.event_bus = \"embedded\"")]
pub struct KafkaRefused(String);

pub struct KafkaBus {
    config: KafkaConfig,
    source: Source,
    producer: Mutex<Arc<Producer>>,
    reports: Reports,
}

impl KafkaBus {
    /// Waits for no broker: a gateway starts without Kafka. A topic that is made keeps events for `events.retention`.
    pub fn open(config: &KafkaConfig, events: &Config) -> Result<Self, KafkaRefused> {
        let watch = TopicWatch::start(Topic::of(config, events.retention), client::settings(config))
            .map_err(|error| KafkaRefused(error.to_string()))?;
        let reports = Reports {
            last_error: Arc::<LastError>::default(),
            watch: Arc::new(watch),
            delivery_timeout: config.delivery_timeout,
        };
        let producer = client::producer(config, reports.clone()).map_err(|error| KafkaRefused(error.to_string()))?;
        Ok(KafkaBus {
            config: config.clone(),
            source: Source::of(&events.deployment),
            producer: Mutex::new(Arc::new(producer)),
            reports,
        })
    }

    /// The producer that takes events: another one after an error that it cannot get over.
    fn producer(&self) -> Arc<Producer> {
        let mut current = self.producer.lock();
        let Some((_, error)) = current.client().fatal_error() else { return current.clone() };
        match client::producer(&self.config, self.reports.clone()) {
            Ok(new) => {
                tracing::warn!(event = "kafka_producer_replaced", error, "kafka producer failed; a new one begins");
                let failed = std::mem::replace(&mut *current, Arc::new(new));
                // Its end waits for its threads.
                if let Err(error) = thread::Builder::new().name("kafka-end".into()).spawn(move || drop(failed)) {
                    tracing::warn!(%error, "old kafka producer still has messages in flight");
                }
            }
            Err(error) => tracing::error!(%error, "cannot create a new kafka producer; keeping the old one"),
        }
        current.clone()
    }
}

impl EventBus for KafkaBus {
    /// What the library does not take is refused.
    fn publish(&self, events: Vec<Event>) {
        let producer = self.producer();
        for Event { claim, receipt } in events {
            let Message { key, headers, value } = Message::of(&CloudEvent::of(&claim, &self.source));
            let record = BaseRecord::with_opaque_to(&self.config.topics.rewards, Box::new(receipt));
            if let Err((error, record)) = producer.send(record.key(&key).headers(headers).payload(&value)) {
                record.delivery_opaque.report(Delivery::Refused(why(&error)));
            }
        }
    }

    fn complaints(&self) -> Vec<String> {
        self.reports.watch.complaints()
    }
}

fn why(error: &KafkaError) -> String {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::QueueFull) => "too many events wait for the brokers".to_owned(),
        _ => error.to_string(),
    }
}
