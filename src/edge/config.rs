//! Settings of the listeners. Each is explained, with its default, in `deploy/heartline.toml`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;

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

/// The public listener.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    pub listen: SocketAddr,
    /// Threads that serve connections; 0 = one per core.
    pub threads: usize,
    /// Pages that may connect, as browsers name them; empty = those of the same host.
    pub origins: Vec<String>,
    /// From the signal to the end of the process, at most.
    #[serde(with = "humantime_serde")]
    pub drain_timeout: Duration,
    /// From the accepted connection to its first whole request, at most.
    #[serde(with = "humantime_serde")]
    pub handshake_timeout: Duration,
    /// From the head of a request to the end of its answer, at most.
    #[serde(with = "humantime_serde")]
    pub request_timeout: Duration,
    /// The certificate chain, in PEM; empty = no TLS.
    pub tls_cert: PathBuf,
    /// Its private key, in PEM.
    pub tls_key: PathBuf,
    /// Who is believed about a client's address.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether their connections begin with a PROXY header.
    pub proxy_protocol: bool,
    /// The header of theirs that names the client of a request.
    pub forwarded_header: ForwardedHeader,
}

/// Health, metrics, kicks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminConfig {
    pub listen: SocketAddr,
}

/// The demo page and its tokens for everybody.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DemoConfig {
    pub enabled: bool,
    /// Whether the page may put the rewards' clock ahead; nothing without `enabled`.
    pub clock: bool,
}
