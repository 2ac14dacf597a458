//! Checks of the settings of Kafka.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::Config;
use super::checks::{Checks, LONGEST};
use storage::config::kafka::{Topics, is_topic};
use storage::event_bus::config::Backend;
use storage::host_port::is_host_port;

const PARTITIONS: RangeInclusive<u16> = 1..=10_000;
const REPLICATION: RangeInclusive<u16> = 1..=100;
const LINGER_MAX: Duration = Duration::from_secs(1);
const DELIVERY_TIMEOUT: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);
const RETENTION: RangeInclusive<Duration> = Duration::from_millis(1)..=LONGEST;

impl Checks<'_> {
    pub(super) fn kafka(&mut self, config: &Config) {
        let kafka = &config.kafka;
        for (index, broker) in kafka.brokers.iter().enumerate() {
            let entry = format!("kafka.brokers[{index}]");
            self.require(is_host_port(broker), &entry, || {
                format!("expected HOST:PORT such as a.example:9092, got {broker:?}")
            });
        }
        let no_broker = config.events.event_bus == Backend::Kafka && kafka.brokers.is_empty();
        self.require(!no_broker, "kafka.brokers", || {
            "is empty, but events.event_bus is \"kafka\"; list a broker, or set events.event_bus = \"embedded\""
                .to_owned()
        });
        self.kafka_topics(config);
        self.require(PARTITIONS.contains(&kafka.partitions), "kafka.partitions", || "must be 1 to 10000".to_owned());
        self.require(REPLICATION.contains(&kafka.replication), "kafka.replication", || "must be 1 to 100".to_owned());
        self.at_least_one("kafka.min_in_sync", kafka.min_in_sync.into());
        self.require(kafka.min_in_sync <= kafka.replication, "kafka.min_in_sync", || {
            format!("is {}; set at most kafka.replication ({})", kafka.min_in_sync, kafka.replication)
        });
        self.require(kafka.linger <= LINGER_MAX, "kafka.linger", || "must be at most 1s".to_owned());
        self.require(DELIVERY_TIMEOUT.contains(&kafka.delivery_timeout), "kafka.delivery_timeout", || {
            "must be 1s to 10m".to_owned()
        });
        self.require(kafka.linger < kafka.delivery_timeout, "kafka.linger", || {
            "must be shorter than kafka.delivery_timeout".to_owned()
        });
        self.kafka_security(config);
    }

    fn kafka_topics(&mut self, config: &Config) {
        let Topics { rewards, positions, history, quarantine } = &config.kafka.topics;
        let topics = [
            ("kafka.topics.rewards", rewards),
            ("kafka.topics.positions", positions),
            ("kafka.topics.history", history),
            ("kafka.topics.quarantine", quarantine),
        ];
        for (index, (setting, topic)) in topics.into_iter().enumerate() {
            self.require(is_topic(topic), setting, || {
                format!("{topic:?} cannot be used; write 1 to 249 letters, digits, dots, hyphens and underscores")
            });
            if let Some((taken, _)) = topics[..index].iter().find(|(_, other)| *other == topic) {
                self.require(false, setting, || format!("{topic:?} is also {taken}; choose another topic"));
            }
        }
        let retention = config.kafka.history_retention;
        self.require(RETENTION.contains(&retention), "kafka.history_retention", || "must be 1ms to 3650d".to_owned());
        self.require(retention.subsec_nanos().is_multiple_of(1_000_000), "kafka.history_retention", || {
            "must be whole milliseconds".to_owned()
        });
    }

    fn kafka_security(&mut self, config: &Config) {
        let kafka = &config.kafka;
        self.require(!kafka.security.is_encrypted(), "kafka.security", || {
            format!(
                "{:?} needs OpenSSL, which is not built in; use \"plaintext\" or \"sasl_plaintext\" in a private network, or \
                 a TLS tunnel next to the gateway",
                kafka.security.name()
            )
        });
        let (user, password) = (!kafka.sasl_user.is_empty(), !kafka.sasl_password.is_empty());
        if kafka.security.has_user() {
            let needed = || format!("is empty, but kafka.security is {:?}; set it", kafka.security.name());
            self.require(user, "kafka.sasl_user", needed);
            self.require(password, "kafka.sasl_password", needed);
        } else {
            let idle =
                || format!("is not used with kafka.security = {:?}; set \"sasl_plaintext\"", kafka.security.name());
            self.require(!user, "kafka.sasl_user", idle);
            self.require(!password, "kafka.sasl_password", idle);
        }
    }
}

#[cfg(test)]
#[path = "kafka_checks_tests.rs"]
mod tests;
