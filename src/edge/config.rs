//! Settings of the listeners. Each is explained, with its default, in `deploy/heartline.toml`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;

use model::secret::Secret;

/// The header in which proxies pass on a client's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ForwardedHeader {
    /// There is none.
    #[serde(rename = "")]
    Absent,
    #[serde(rename = "x-forwarded-for")]
    XForwardedFor,
    /// That of RFC 7239.
    #[serde(rename = "forwarded")]
    Forwarded,
}

/// A network of trusted proxies.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct ProxyNetwork(pub IpNet);

impl TryFrom<String> for ProxyNetwork {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match (text.parse(), text.parse()) {
            (Ok(network), _) => Ok(ProxyNetwork(network)),
            (Err(_), Ok(IpAddr::V4(address))) => Err(format!("write {address}/32")),
            (Err(_), Ok(IpAddr::V6(address))) => Err(format!("write {address}/128")),
            (Err(_), Err(_)) => Err(format!("expected a network such as 10.0.0.0/8, got {text:?}")),
        }
    }
}

/// The certificates of one listener.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The section of the settings, for messages.
    pub section: &'static str,
    /// The certificate chain and its private key, in PEM.
    pub chain: PathBuf,
    pub key: PathBuf,
    /// `None`: clients are not asked for a certificate.
    pub clients: Option<ClientCertificates>,
    /// The protocol inside TLS, for ALPN; a client that offers only others is refused.
    pub protocol: &'static [u8],
}

/// Which certificates clients show.
#[derive(Clone, Debug)]
pub struct ClientCertificates {
    /// The certificates of the authorities that sign them, in PEM.
    pub authorities: PathBuf,
    /// Whether a client without one is refused.
    pub required: bool,
}

/// The public listener.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    pub listen: SocketAddr,
    /// Threads that serve connections; 0 = one per core.
    pub threads: usize,
    /// Pages that may connect, as browsers name them; empty = those of the same host.
    pub origins: Vec<String>,
    /// From the signal to the start of the drain: not ready, and everything is served.
    #[serde(with = "humantime_serde")]
    pub lame_duck: Duration,
    /// From the start of the drain to the end of the process, at most.
    #[serde(with = "humantime_serde")]
    pub drain_timeout: Duration,
    /// From the accepted connection to its first whole request, at most.
    #[serde(with = "humantime_serde")]
    pub handshake_timeout: Duration,
    /// From the head of a request to the end of its answer, at most.
    #[serde(with = "humantime_serde")]
    pub request_timeout: Duration,
    /// From the end of an answer to the next request of the connection, at most.
    #[serde(with = "humantime_serde")]
    pub keep_alive: Duration,
    /// The certificate chain, in PEM; empty = no TLS.
    pub tls_cert: PathBuf,
    /// Its private key, in PEM.
    pub tls_key: PathBuf,
    /// How often files of keys, certificates and countries are looked at; 0 = never.
    #[serde(with = "humantime_serde")]
    pub watch_files: Duration,
    /// The proxies that may name a client's address.
    pub trusted_proxies: Vec<ProxyNetwork>,
    /// Whether their connections begin with a PROXY header.
    pub proxy_protocol: bool,
    /// The header of theirs that names the client of a request.
    pub forwarded_header: ForwardedHeader,
}

impl ServerConfig {
    /// `None`: no TLS.
    pub fn tls(&self) -> Option<TlsFiles> {
        let (chain, key) = (self.tls_cert.clone(), self.tls_key.clone());
        let is_given = !chain.as_os_str().is_empty() && !key.as_os_str().is_empty();
        is_given.then_some(TlsFiles { section: "server", chain, key, clients: None, protocol: b"http/1.1" })
    }
}

/// Health, readiness, metrics.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminConfig {
    pub listen: SocketAddr,
}

/// Kicks, revocations, one user's records, events.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlConfig {
    pub listen: SocketAddr,
    /// The token of callers; empty = a token that is made once and kept in the data directory.
    pub token: Secret,
    /// Services that have a token of their own, which may do less.
    pub callers: Vec<ControlCaller>,
    /// Names by which the listener may be called, besides `localhost` and addresses.
    pub hosts: Vec<String>,
}

/// A service, and what it may do at most.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlCaller {
    /// The `sub` of its token.
    pub name: String,
    pub scopes: Vec<ControlScope>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ControlScope {
    /// Counters and views.
    #[serde(rename = "heartline.counters")]
    Counters,
    /// Subscribers, and the event logs.
    #[serde(rename = "heartline.subscribers")]
    Subscribers,
    /// Live numbers.
    #[serde(rename = "heartline.live")]
    Live,
    /// Exports and connections of users, kicks and revocations.
    #[serde(rename = "heartline.users")]
    Users,
    /// Erasures.
    #[serde(rename = "heartline.erase")]
    Erase,
}

impl ControlScope {
    pub const ALL: [Self; 5] = [
        ControlScope::Counters,
        ControlScope::Subscribers,
        ControlScope::Live,
        ControlScope::Users,
        ControlScope::Erase,
    ];

    /// As tokens and settings have it.
    pub const fn word(self) -> &'static str {
        match self {
            ControlScope::Counters => "heartline.counters",
            ControlScope::Subscribers => "heartline.subscribers",
            ControlScope::Live => "heartline.live",
            ControlScope::Users => "heartline.users",
            ControlScope::Erase => "heartline.erase",
        }
    }
}

/// The demo page, which issues a token to any visitor.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DemoConfig {
    pub enabled: bool,
    /// Whether the demo runs although a key is configured or a proxy is trusted.
    pub issue_tokens_for_any_user_with_the_real_key: bool,
    /// Whether the page may put the rewards' clock ahead; nothing without `enabled`.
    pub clock: bool,
}
