//! Messages that are no packs, in a topic of Kafka: key and value as they were, and in the headers from where and why.
//!
//! **Memory.** [`QUEUE_MESSAGES_MAX`] messages and [`QUEUE_KIB_MAX`] KiB; more is refused.

use rdkafka::message::{Header, OwnedHeaders};

use super::refused::KafkaRefused;
use crate::producer::{Producer, Terms};
use crate::topic::Topic;
use storage::config::kafka::KafkaConfig;
use storage::history_bus::quarantine::{Quarantine, Quarantined};

const QUEUE_MESSAGES_MAX: u32 = 1_024;
/// Room for several of the longest messages.
const QUEUE_KIB_MAX: u32 = 64 * 1024;
/// The longest message of other programs: more than a pack may have, and more than a compressed batch of the topic of
/// history.
const MESSAGE_BYTES_MAX: usize = 16 << 20;
const BATCH_BYTES_MAX: usize = MESSAGE_BYTES_MAX + (1 << 20);

const TERMS: Terms = Terms {
    queue_messages_max: QUEUE_MESSAGES_MAX,
    queue_kib_max: QUEUE_KIB_MAX,
    message_bytes_max: MESSAGE_BYTES_MAX + 1024,
    in_flight_max: 5,
    compression: super::COMPRESSION,
};

pub struct KafkaQuarantine {
    /// The topic that messages come from.
    source: String,
    producer: Producer,
}

impl KafkaQuarantine {
    /// Waits for no broker. A topic that is made keeps messages for `kafka.history_retention`.
    pub fn open(config: &KafkaConfig) -> Result<Self, KafkaRefused> {
        let topic = Topic::of_quarantine(config, BATCH_BYTES_MAX);
        let producer = Producer::open(config, topic, TERMS).map_err(KafkaRefused)?;
        Ok(KafkaQuarantine { source: config.topics.history.clone(), producer })
    }
}

impl Quarantine for KafkaQuarantine {
    /// Stores a message. A message that the library does not take is refused.
    fn put(&self, message: Quarantined) {
        let Quarantined { pack, reason, receipt } = message;
        let headers = [
            ("source_topic", &*self.source),
            ("source_partition", &*pack.message_ref.partition.to_string()),
            ("source_offset", &*pack.message_ref.offset.to_string()),
            ("reason", &*reason),
        ];
        let headers = headers.into_iter().fold(OwnedHeaders::new_with_capacity(4), |headers, (key, value)| {
            headers.insert(Header { key, value: Some(value) })
        });
        self.producer.send(&pack.key, Some(headers), &pack.bytes, receipt);
    }

    fn complaints(&self) -> Vec<String> {
        self.producer.complaints()
    }
}
