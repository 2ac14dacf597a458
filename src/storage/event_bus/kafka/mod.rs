//! Events in a topic of Kafka, in the binary mode of CloudEvents, keyed by user.
//!
//! ```text
//! publish → the library's queue → brokers, acks=all → a report for each event → answer
//! watch   → the topic: is it there, has it the copies that were promised?     → complaints
//! ```
//!
//! **Order.** Events of one user are in one partition, in the order of their claims: the first of each, that is. The
//! library repeats requests without gaps and without doubles. A publication that has failed leaves nothing behind that
//! might still overtake: its producer is given up with all it holds, and a new one begins.
//!
//! **Failure.** Brokers that are away are asked again by the library, so that events flow when they are back; after
//! `kafka.delivery_timeout` a publication counts as failed, and what became of its events is not known.
//!
//! **Memory.** [`client::QUEUE_EVENTS_MAX`] events and [`client::QUEUE_KIB_MAX`] KiB; more is an error.

mod batch;
mod client;
pub mod config;
mod message;
mod topic;
mod watch;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use futures_util::future::BoxFuture;
use rdkafka::producer::BaseRecord;
use tokio::time::timeout;

use self::batch::Batch;
use self::client::{Producer, Trouble};
use self::config::KafkaConfig;
use self::message::Message;
use self::topic::Topic;
use self::watch::TopicWatch;
use super::cloud_event::{CloudEvent, Source};
use super::config::Config;
use super::{BusError, EventBus};
use crate::model::rewards::claim::Claim;

/// The client library refuses its settings, or cannot start.
#[derive(Debug, thiserror::Error)]
#[error("events cannot go to Kafka: {0}; mend [kafka], or set events.event_bus = \"embedded\"")]
pub struct KafkaRefused(String);

pub struct KafkaBus {
    config: KafkaConfig,
    source: Source,
    producer: Mutex<Arc<Producer>>,
    trouble: Arc<Trouble>,
    watch: TopicWatch,
}

impl KafkaBus {
    /// Waits for no broker: a gateway starts without Kafka. A topic that is made keeps events for `events.retention`.
    pub fn open(config: &KafkaConfig, events: &Config) -> Result<Self, KafkaRefused> {
        let trouble = Arc::<Trouble>::default();
        let producer = client::producer(config, trouble.clone()).map_err(|error| KafkaRefused(error.to_string()))?;
        let watch = TopicWatch::start(Topic::of(config, events.retention), client::settings(config));
        Ok(KafkaBus {
            config: config.clone(),
            source: Source::of(&events.deployment),
            producer: Mutex::new(Arc::new(producer)),
            trouble,
            watch: watch.map_err(|error| KafkaRefused(error.to_string()))?,
        })
    }

    fn producer(&self) -> Arc<Producer> {
        self.producer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Hands all events to the library; those it does not take have failed.
    fn send(&self, producer: &Producer, claims: &[Claim], batch: &Arc<Batch>) {
        for (sent, claim) in claims.iter().enumerate() {
            let Message { key, headers, value } = Message::of(&CloudEvent::of(claim, &self.source));
            let record = BaseRecord::with_opaque_to(&self.config.topic, batch.clone());
            if let Err((error, _)) = producer.send(record.key(&key).headers(headers).payload(&value)) {
                // Nothing goes on behind a gap.
                batch.failed(claims.len() - sent, error.to_string());
                return;
            }
        }
    }

    /// Begins anew, unless somebody has already.
    fn give_up(&self, failed: &Arc<Producer>) {
        let new = match client::producer(&self.config, self.trouble.clone()) {
            Ok(new) => Arc::new(new),
            Err(error) => {
                tracing::error!(%error, "there is no new producer for Kafka; the old one goes on");
                return;
            }
        };
        let mut current = self.producer.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = if Arc::ptr_eq(&current, failed) { std::mem::replace(&mut *current, new) } else { new };
        drop(current);
        // Its end waits for its threads.
        if let Err(error) = thread::Builder::new().name("kafka-end".into()).spawn(move || drop(idle)) {
            tracing::warn!(%error, "the end of a producer for Kafka is waited for");
        }
    }
}

impl EventBus for KafkaBus {
    fn publish<'a>(&'a self, claims: &'a [Claim]) -> BoxFuture<'a, Result<(), BusError>> {
        Box::pin(async move {
            if claims.is_empty() {
                return Ok(());
            }
            let producer = self.producer();
            let (batch, reported) = Batch::of(claims.len());
            self.send(&producer, claims, &Arc::new(batch));
            let limit = self.config.delivery_timeout;
            let failure = match timeout(limit, reported).await {
                Ok(Ok(Ok(()))) => return Ok(()),
                Ok(Ok(Err(failure))) => failure,
                Ok(Err(_)) => "it is not known what was delivered".to_owned(),
                Err(_) => match self.trouble.text() {
                    trouble if trouble.is_empty() => format!("not delivered in {limit:?}"),
                    trouble => format!("not delivered in {limit:?}: {trouble}"),
                },
            };
            self.give_up(&producer);
            self.watch.look();
            Err(BusError(failure))
        })
    }

    fn complaints(&self) -> Vec<String> {
        self.watch.complaints()
    }
}
