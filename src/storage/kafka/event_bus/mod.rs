//! Events in topics of Kafka, in the binary mode of CloudEvents, by their partition keys.
//!
//! **Order.** Events of one key are in one partition of their topic, and the first copy of each is in the order in
//! which they were made. The relay hands over an event only after the report of the one before it, so that repeats change no
//! order.
//!
//! **Failure.** As [of all messages](crate).
//!
//! **Memory.** [`QUEUE_EVENTS_MAX`] events and [`QUEUE_KIB_MAX`] KiB; more is an error.

mod message;
mod source;

pub use self::source::KafkaEvents;

use std::sync::OnceLock;

use self::message::Message;
use crate::producer::{Producer, Terms};
use crate::topic::Topic;
use storage::config::kafka::KafkaConfig;
use storage::delivery::Delivery;
use storage::event_bus::config::Config;
use storage::event_bus::{Event, EventBus, EventTopic, POSITIONS_RETENTION};

/// Events that wait in the library; more are refused.
const QUEUE_EVENTS_MAX: u32 = 16_384;
/// Their bytes.
const QUEUE_KIB_MAX: u32 = 32 * 1024;

const TERMS: Terms = Terms {
    queue_messages_max: QUEUE_EVENTS_MAX,
    queue_kib_max: QUEUE_KIB_MAX,
    message_bytes_max: 1_000_000,
    // A second one might be taken though the first was refused, and the first, sent again, count as one that the broker
    // has. The order of a user's events needs nothing else of the library.
    in_flight_max: 1,
    compression: "none",
};

/// The client library refuses its settings, or cannot start.
#[derive(Debug, thiserror::Error)]
#[error("cannot publish events to Kafka: {0}; correct [kafka], or set events.event_bus = \"embedded\"")]
pub struct KafkaRefused(String);

pub struct KafkaBus {
    config: KafkaConfig,
    rewards: Producer,
    /// Opened by the first event: most deployments have none, and need no topic for them.
    positions: OnceLock<Result<Producer, String>>,
}

impl KafkaBus {
    /// Waits for no broker: a gateway starts without Kafka. The topic of rewards, if it is made, keeps events for
    /// `events.retention`.
    pub fn open(config: &KafkaConfig, events: &Config) -> Result<Self, KafkaRefused> {
        let topic = Topic::of_events(config, &config.topics.rewards, events.retention);
        let rewards = Producer::open(config, topic, TERMS).map_err(KafkaRefused)?;
        Ok(KafkaBus { config: config.clone(), rewards, positions: OnceLock::new() })
    }

    fn producer(&self, topic: EventTopic) -> Result<&Producer, String> {
        match topic {
            EventTopic::Rewards => Ok(&self.rewards),
            EventTopic::Positions => {
                let config = &self.config;
                let topic = || Topic::of_events(config, &config.topics.positions, POSITIONS_RETENTION);
                let opened = self.positions.get_or_init(|| Producer::open(config, topic(), TERMS));
                opened.as_ref().map_err(String::clone)
            }
        }
    }
}

impl EventBus for KafkaBus {
    /// Publishes events. Refuses an event if the library's queue does not accept it.
    fn publish(&self, events: Vec<Event>) {
        for Event { topic, cloud_event, receipt } in events {
            let Message { key, headers, value } = Message::of(cloud_event);
            match self.producer(topic) {
                Ok(producer) => producer.send(key.as_bytes(), Some(headers), value.as_bytes(), receipt),
                Err(why) => receipt.report(Delivery::Refused(why)),
            }
        }
    }

    fn complaints(&self) -> Vec<String> {
        let positions = self.positions.get().and_then(|opened| opened.as_ref().ok());
        [&self.rewards].into_iter().chain(positions).flat_map(Producer::complaints).collect()
    }
}
