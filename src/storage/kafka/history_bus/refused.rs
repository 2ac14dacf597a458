//! Why nothing is published to or read from Kafka at all.

/// The client library refuses its settings, or cannot start.
#[derive(Debug, thiserror::Error)]
#[error("cannot use Kafka for history: {0}; correct [kafka]")]
pub struct KafkaRefused(pub(super) String);
