//! The settings of Redis.

use std::path::{Path, PathBuf};

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
    /// Acked beats survive what the provider of the server promises. The server is not asked for its settings.
    Managed,
}

/// `[redis]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisConfig {
    /// One server, a Cluster, or the Sentinels that know a master; it may hold a password.
    pub url: Secret,
    pub durability: Durability,
    /// The authorities of the servers' certificates, in PEM; empty = those of the system.
    pub tls_ca: PathBuf,
    /// What this process shows to servers that ask for a certificate, in PEM; empty = nothing.
    pub tls_cert: PathBuf,
    /// Its key.
    pub tls_key: PathBuf,
}

impl RedisConfig {
    /// Strictly durable, at this URL.
    pub fn strict(url: &str) -> Self {
        let [tls_ca, tls_cert, tls_key] = Default::default();
        RedisConfig { url: Secret::new(url.to_owned()), durability: Durability::Strict, tls_ca, tls_cert, tls_key }
    }

    /// The files that are configured.
    pub fn tls_files(&self) -> impl Iterator<Item = &Path> {
        [&self.tls_ca, &self.tls_cert, &self.tls_key].into_iter().filter_map(|path| given(path))
    }
}

/// `None`: there is no such file.
pub fn given(path: &Path) -> Option<&Path> {
    Some(path).filter(|path| !path.as_os_str().is_empty())
}
