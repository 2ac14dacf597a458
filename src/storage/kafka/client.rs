//! The client library, as it is used here.

use std::time::Duration;

use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use super::last_error::LastError;
use storage::config::kafka::KafkaConfig;

/// How long one request may take. A broker that has stopped without closing its connections is given up after it.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How soon a lost broker is connected to again, at first and at last.
const RECONNECT: Duration = Duration::from_millis(100);
const RECONNECT_MAX: Duration = Duration::from_secs(1);

/// Lines of the library that are not logged: errors kept as [`LastError`], failures that are retried, and the warning
/// that a setting of this module is "experimental".
const QUIET: [&str; 3] = ["FAIL", "GETPID", "CONFWARN"];

/// The settings of every client.
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

pub fn millis(duration: Duration) -> String {
    duration.as_millis().to_string()
}

/// Lines name brokers and partitions, and neither keys nor passwords. The user of a client logs its failures, so no
/// line of the library's is more than a warning.
pub fn log(level: RDKafkaLogLevel, facility: &str, line: &str) {
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

/// Keeps an error of the library's, and logs it if it was not logged lately. True: it was logged.
pub fn is_new(last_error: &LastError, error: &KafkaError, reason: &str) -> bool {
    tracing::debug!(%error, "kafka: {reason}");
    match error.rdkafka_error_code() {
        // Said after all that says why.
        Some(RDKafkaErrorCode::AllBrokersDown) => false,
        Some(RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SaslAuthenticationFailed) => {
            last_error.is_login(reason)
        }
        _ => last_error.is(reason),
    }
}
