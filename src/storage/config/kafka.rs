//! The settings of Kafka. Each is explained, with its default, in `deploy/heartline.toml`.

use std::time::Duration;

use serde::Deserialize;

use model::secret::Secret;

/// `[kafka]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KafkaConfig {
    /// `HOST:PORT` of the brokers to ask first.
    pub brokers: Vec<String>,
    pub topics: Topics,
    /// A topic is made if it is missing.
    pub create_topic: bool,
    /// The number of partitions of a topic that the gateway makes.
    pub partitions: u16,
    /// The retention of the topics for history and quarantine.
    #[serde(with = "humantime_serde")]
    pub history_retention: Duration,
    /// Copies of each event.
    pub replication: u16,
    /// Copies that there are at least when an event counts as published.
    pub min_in_sync: u16,
    /// How long an event waits for others to be sent with.
    #[serde(with = "humantime_serde")]
    pub linger: Duration,
    /// How long a publication may take before it counts as failed.
    #[serde(with = "humantime_serde")]
    pub delivery_timeout: Duration,
    pub security: Security,
    pub sasl_user: String,
    pub sasl_password: Secret,
}

/// `[kafka.topics]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topics {
    pub rewards: String,
    pub positions: String,
    pub history: String,
    pub quarantine: String,
}

/// How brokers are spoken to, by the names of Kafka's own `security.protocol`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Security {
    Plaintext,
    SaslPlaintext,
    Ssl,
    SaslSsl,
}

impl Security {
    pub fn name(self) -> &'static str {
        match self {
            Security::Plaintext => "plaintext",
            Security::SaslPlaintext => "sasl_plaintext",
            Security::Ssl => "ssl",
            Security::SaslSsl => "sasl_ssl",
        }
    }

    /// Needs OpenSSL, which is not built in.
    pub fn is_encrypted(self) -> bool {
        matches!(self, Security::Ssl | Security::SaslSsl)
    }

    pub fn has_user(self) -> bool {
        matches!(self, Security::SaslPlaintext | Security::SaslSsl)
    }
}

const TOPIC_BYTES_MAX: usize = 249;

/// Whether Kafka would have a topic of this name.
pub fn is_topic(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (1..=TOPIC_BYTES_MAX).contains(&name.len()) && name.bytes().all(plain) && !matches!(name, "." | "..")
}
