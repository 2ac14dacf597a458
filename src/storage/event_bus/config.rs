//! The settings of the event bus.

use std::time::Duration;

use serde::Deserialize;

/// The bus that events are published on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// To a log in files of this process.
    Embedded,
    Kafka,
}

/// `[events]`: the name of the deployment, and how long the embedded log keeps events.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub event_bus: Backend,
    /// Names this deployment in the `source` of its events: [`is_deployment`].
    pub deployment: String,
    /// How long an event is kept after it was published.
    #[serde(with = "humantime_serde")]
    pub retention: Duration,
    /// Bytes of events that are kept, at least [`RETENTION_BYTES_MIN`].
    pub retention_bytes: u64,
}

/// Room for some thousand events, so that consumers can read an event before it is removed.
pub const RETENTION_BYTES_MIN: u64 = 1 << 20;

const DEPLOYMENT_BYTES_MAX: usize = 64;

/// 1 to 64 lower-case letters, digits and hyphens.
pub fn is_deployment(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=DEPLOYMENT_BYTES_MAX).contains(&name.len()) && name.bytes().all(plain)
}
