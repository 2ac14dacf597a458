//! Packs in a topic of Kafka, keyed by region: a message's value is the pack, compressed.
//!
//! **Failure.** As [of all messages](crate).
//!
//! **Memory.** [`QUEUE_PACKS_MAX`] packs and [`QUEUE_KIB_MAX`] KiB; more is refused.

mod assigned;
mod carried;
pub mod quarantine;
mod reader;
mod refused;
mod shared;
pub mod source;

pub use self::carried::Carried;
pub use self::refused::KafkaRefused;
use crate::producer::{Producer, Terms};
use crate::topic::Topic;
use storage::config::kafka::KafkaConfig;
use storage::history_bus::{HistoryBus, MESSAGE_BYTES_MAX, PackMessage};

/// Packs that wait in the library; more are refused.
const QUEUE_PACKS_MAX: u32 = 4_096;
/// Their bytes, before they are compressed.
const QUEUE_KIB_MAX: u32 = 32 * 1024;

/// The most bytes of packs sent together: the library fills a batch up to 1 MB, and sends a longer message alone.
const BATCH_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX;

const COMPRESSION: &str = "lz4";

const TERMS: Terms = Terms {
    queue_messages_max: QUEUE_PACKS_MAX,
    queue_kib_max: QUEUE_KIB_MAX,
    // Its key and frame count, too.
    message_bytes_max: MESSAGE_BYTES_MAX + 1024,
    // Any order will do.
    in_flight_max: 5,
    compression: COMPRESSION,
};

pub struct KafkaHistory {
    producer: Producer,
}

impl KafkaHistory {
    /// Waits for no broker. A topic that is made keeps packs for `kafka.history_retention`.
    pub fn open(config: &KafkaConfig) -> Result<Self, KafkaRefused> {
        Ok(KafkaHistory { producer: Producer::open(config, topic(config), TERMS).map_err(KafkaRefused)? })
    }
}

fn topic(config: &KafkaConfig) -> Topic {
    Topic::of_history(config, BATCH_BYTES_MAX)
}

impl HistoryBus for KafkaHistory {
    /// Publishes a message. A message that the library does not take is refused.
    fn publish(&self, message: PackMessage) {
        self.producer.send(message.region.0.to_string().as_bytes(), None, &message.bytes, message.receipt);
    }

    fn complaints(&self) -> Vec<String> {
        self.producer.complaints()
    }
}
