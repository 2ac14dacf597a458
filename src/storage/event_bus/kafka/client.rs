//! The client library, as it is used here.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::producer::{DeliveryResult, ProducerContext, ThreadedProducer};

use super::config::KafkaConfig;
use super::last_error::LastError;
use super::watch::TopicWatch;
use crate::storage::event_bus::delivery::{Delivery, Receipt};

/// Events that wait in the library; more are refused.
pub const QUEUE_EVENTS_MAX: u32 = 16_384;
/// Their bytes.
pub const QUEUE_KIB_MAX: u32 = 32 * 1024;
/// How long one request may take. A broker that has stopped without closing its connections is given up after it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How soon a lost broker is connected to again, at first and at last.
const RECONNECT: Duration = Duration::from_millis(100);
const RECONNECT_MAX: Duration = Duration::from_secs(1);

/// Of the library's lines: what is told as [`LastError`], what is tried again, and that a setting of this module's is
/// "experimental".
const QUIET: [&str; 3] = ["FAIL", "GETPID", "CONFWARN"];

/// Sends events. A thread of its own takes the reports.
pub type Producer = ThreadedProducer<Reports>;

/// Passes on what the library has to say.
#[derive(Clone)]
pub struct Reports {
    pub last_error: Arc<LastError>,
    pub watch: Arc<TopicWatch>,
    pub delivery_timeout: Duration,
}

/// What every client is told.
pub fn settings(config: &KafkaConfig) -> ClientConfig {
    let mut settings = ClientConfig::new();
    settings
        .set("bootstrap.servers", config.brokers.join(","))
        .set("client.id", env!("CARGO_PKG_NAME"))
        .set("security.protocol", config.security.name())
        .set("socket.timeout.ms", millis(REQUEST_TIMEOUT))
        .set("socket.connection.setup.timeout.ms", millis(REQUEST_TIMEOUT))
        .set("socket.keepalive.enable", "true")
        .set("reconnect.backoff.ms", millis(RECONNECT))
        .set("reconnect.backoff.max.ms", millis(RECONNECT_MAX))
        .set("allow.auto.create.topics", "false")
        .set("enable.metrics.push", "false")
        .set("log.connection.close", "false")
        .set_log_level(RDKafkaLogLevel::Info);
    if config.security.has_user() {
        settings
            .set("sasl.mechanisms", "PLAIN")
            .set("sasl.username", &config.sasl_user)
            .set("sasl.password", config.sasl_password.expose());
    }
    settings
}

/// The library repeats what a broker has not answered, until `kafka.delivery_timeout` is over, and sends nothing twice that
/// a broker has. One request at a time for each broker: a second one might be taken though the first was refused, and the
/// first, sent again, count as one that the broker has. The order of a user's events needs nothing else of it.
pub fn producer(config: &KafkaConfig, reports: Reports) -> KafkaResult<Producer> {
    let mut settings = settings(config);
    settings
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("max.in.flight.requests.per.connection", "1")
        .set("message.timeout.ms", millis(config.delivery_timeout))
        .set("topic.metadata.propagation.max.ms", millis(config.delivery_timeout))
        .set("request.timeout.ms", millis(REQUEST_TIMEOUT))
        .set("linger.ms", millis(config.linger))
        .set("queue.buffering.max.messages", QUEUE_EVENTS_MAX.to_string())
        .set("queue.buffering.max.kbytes", QUEUE_KIB_MAX.to_string())
        // As the Java client does it: whoever joins topics by their keys finds them in the same partition.
        .set("partitioner", "murmur2_random");
    Producer::from_config_and_context(&settings, reports)
}

impl ClientContext for Reports {
    /// Lines name brokers and partitions, and neither keys nor passwords. Whoever publishes says that it failed, so that
    /// no line of the library's is more than a warning.
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        match level {
            _ if QUIET.contains(&facility) => tracing::debug!(facility, "kafka: {line}"),
            RDKafkaLogLevel::Emerg
            | RDKafkaLogLevel::Alert
            | RDKafkaLogLevel::Critical
            | RDKafkaLogLevel::Error
            | RDKafkaLogLevel::Warning => tracing::warn!(facility, "kafka: {line}"),
            RDKafkaLogLevel::Notice | RDKafkaLogLevel::Info => tracing::debug!(facility, "kafka: {line}"),
            RDKafkaLogLevel::Debug => tracing::trace!(facility, "kafka: {line}"),
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, "kafka: {reason}");
        // Said after all that says why.
        if error.rdkafka_error_code() == Some(RDKafkaErrorCode::AllBrokersDown) {
            return;
        }
        if self.last_error.is(reason) {
            self.watch.look();
        }
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = Box<Receipt>;

    fn delivery(&self, report: &DeliveryResult<'_>, receipt: Box<Receipt>) {
        let Err((error, _)) = report else {
            self.last_error.over();
            return receipt.report(Delivery::Published);
        };
        self.watch.look();
        let limit = self.delivery_timeout;
        receipt.report(match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::MessageTimedOut) => Delivery::Unknown(match self.last_error.text() {
                trouble if trouble.is_empty() => format!("not delivered in {limit:?}"),
                trouble => format!("not delivered in {limit:?}: {trouble}"),
            }),
            Some(RDKafkaErrorCode::PurgeInflight) => Delivery::Unknown(error.to_string()),
            _ => Delivery::Refused(error.to_string()),
        });
    }
}

fn millis(duration: Duration) -> String {
    duration.as_millis().to_string()
}
