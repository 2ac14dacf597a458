//! The settings of Redis.

use serde::Deserialize;

use model::secret::Secret;

/// The guarantee that a Redis must give before anything is committed to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Acked beats survive the loss of the process and of the machine; a server that does not guarantee it is refused.
    Strict,
    /// Acked beats may be lost with the machine, and the log warns of it.
    Relaxed,
}

/// `[redis]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisConfig {
    /// One server, a Cluster, or the Sentinels that know a master; it may hold a password.
    pub url: Secret,
    pub durability: Durability,
}

impl RedisConfig {
    /// Strictly durable, at this URL.
    pub fn strict(url: &str) -> Self {
        RedisConfig { url: Secret::new(url.to_owned()), durability: Durability::Strict }
    }
}
