//! The settings of subscribers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;

/// `[subscribers]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubscribersConfig {
    /// Endpoints without TLS are allowed.
    pub allow_http: bool,
    /// Networks with endpoints, though they are not public.
    pub allow_networks: Vec<IpNet>,
    /// A file of certificates that are trusted beside those of the system; empty = none.
    pub tls_ca: PathBuf,
    /// A DNS server; empty = those of the system.
    pub dns: DnsServer,
    /// The timeout of a request, from the look-up of its name to the end of the answer.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// Pauses after the first failed try, the second, …; the last is repeated.
    pub retries: Vec<Pause>,
    /// For how long the older of two secrets signs.
    #[serde(with = "humantime_serde")]
    pub secret_overlap: Duration,
    /// Events of one queue.
    pub queue_events: u64,
    /// Bytes of one queue.
    pub queue_bytes: u64,
    /// The maximal age of the oldest event of a queue.
    #[serde(with = "humantime_serde")]
    pub queue_age: Duration,
    /// Subscribers that one process delivers to at the same time.
    pub workers: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Pause(#[serde(with = "humantime_serde")] pub Duration);

/// The address of a DNS server; empty = none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct DnsServer(pub Option<SocketAddr>);

impl TryFrom<String> for DnsServer {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parsed = (!text.is_empty()).then(|| text.parse()).transpose();
        parsed.map(DnsServer).map_err(|_| format!("{text:?} is no address; write it as in \"10.0.0.2:53\""))
    }
}
