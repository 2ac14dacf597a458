//! Metrics of the public listener: connections, closes, refusals. [`traffic`] counts bytes, and [`http`] requests;
//! [`plain_text`] is the older of the two formats in which all metrics are shown.

pub mod http;
mod plain_text;
pub mod traffic;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use ::http::header;
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use self::traffic::{Flow, Traffic};

/// The format of a page of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.0.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus, which every reader of metrics knows.
    Plain,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Code {
    code: String,
}

/// Why a connection or an upgrade was refused before the welcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Too many connections that are not welcomed yet.
    Handshakes,
    /// The same, from one address.
    AddressHandshakes,
    /// Too many sockets, or upgrades a second.
    Upgrades,
    /// The same, from one address.
    AddressUpgrades,
    /// A trusted proxy sent no PROXY header that can be read, or not in time.
    ProxyHeader,
    /// A TLS handshake failed or took too long.
    TlsHandshake,
    /// A trusted proxy passed on a request without the client's address.
    ForwardedHeader,
    /// A request took too long.
    SlowRequest,
    /// A page of an origin that is not allowed asked for a socket, or for anything over HTTP.
    Origin,
    /// An upgrade is not as the protocol has it.
    Malformed,
    /// An upgrade came with a bad token in its header.
    Token,
    /// The user of an upgrade was kicked a moment ago, or the token is revoked.
    Kicked,
    /// An upgrade came during the drain.
    Draining,
    /// The clock is wrong.
    Clock,
    /// The store of users' names is away.
    Names,
}

impl Refused {
    /// In the order of the variants, since a reason finds its counter by its index.
    const LABELS: [&str; 15] = [
        "handshakes",
        "address_handshakes",
        "upgrades",
        "address_upgrades",
        "proxy_header",
        "tls_handshake",
        "forwarded_header",
        "slow_request",
        "origin",
        "malformed",
        "token",
        "kicked",
        "draining",
        "clock",
        "names",
    ];

    pub fn word(self) -> &'static str {
        Self::LABELS[self as usize]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

#[derive(Clone)]
pub struct Metrics {
    /// Authenticated sockets.
    pub connections: Gauge<i64, AtomicI64>,
    pub http: http::Metrics,
    traffic: Traffic,
    closes: Arc<BTreeMap<u16, Counter>>,
    /// Codes that a client made up.
    other_closes: Counter,
    refused: [Counter; Refused::LABELS.len()],
}

impl Metrics {
    /// `close_codes`: those that this server may close a socket with.
    pub fn new(close_codes: impl Iterator<Item = u16>, registry: &mut Registry) -> Self {
        let closes = Family::<Code, Counter>::default();
        let refused = Family::<Reason, Counter>::default();
        let close_counter = |code: String| closes.get_or_create_owned(&Code { code });
        let metrics = Metrics {
            connections: Gauge::default(),
            http: http::Metrics::new(registry),
            traffic: Traffic::default(),
            closes: Arc::new(close_codes.map(|code| (code, close_counter(code.to_string()))).collect()),
            other_closes: close_counter("other".to_owned()),
            refused: Refused::LABELS.map(|reason| refused.get_or_create_owned(&Reason { reason })),
        };
        registry.register("connections", "Authenticated sockets", metrics.connections.clone());
        registry.register_collector(Box::new(metrics.traffic.clone()));
        registry.register("closes", "Sockets closed, by the close code that was sent or received", closes);
        registry.register("refused", "Connections and upgrades refused, by reason", refused);
        metrics
    }

    /// Counts what one more thread receives and sends.
    pub fn flow(&self) -> Arc<Flow> {
        self.traffic.flow()
    }

    pub fn refused(&self, reason: Refused) {
        self.refused[reason as usize].inc();
    }

    pub fn closed(&self, code: u16) {
        self.closes.get(&code).unwrap_or(&self.other_closes).inc();
    }
}

/// All metrics, in the format that was asked for.
pub fn page(registry: &Registry, format: Format) -> Response {
    let mut page = String::new();
    text::encode(&mut page, registry).expect("a String takes all that is written to it");
    let page = match format {
        Format::OpenMetrics => page,
        Format::Plain => plain_text::of(&page),
    };
    ([(header::CONTENT_TYPE, format.media_type())], page).into_response()
}

impl Format {
    fn media_type(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}
