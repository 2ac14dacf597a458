//! What is counted where the world comes in.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use axum::response::{IntoResponse, Response};
use http::header;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::traffic::{Flow, Traffic};

const TEXT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Code {
    code: u16,
}

/// Why somebody was turned away before the welcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum Refused {
    /// Too many connections that are not welcomed yet.
    Handshakes,
    /// Too many of one address.
    AddressHandshakes,
    /// Too many sockets, or upgrades a second.
    Upgrades,
    /// Too many of one address.
    AddressUpgrades,
    /// A trusted proxy began without a PROXY header that can be read in time.
    ProxyHeader,
    /// A TLS handshake failed or took too long.
    TlsHandshake,
    /// A trusted proxy passed on a request without saying whose it is.
    ForwardedHeader,
    /// A request took too long.
    SlowRequest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: Refused,
}

#[derive(Clone)]
pub struct Metrics {
    /// Authenticated sockets.
    pub connections: Gauge<i64, AtomicI64>,
    traffic: Traffic,
    closes: Family<Code, Counter>,
    refused: Family<Reason, Counter>,
}

impl Metrics {
    pub fn new(registry: &mut Registry) -> Self {
        let metrics = Metrics {
            connections: Gauge::default(),
            traffic: Traffic::default(),
            closes: Family::default(),
            refused: Family::default(),
        };
        registry.register("connections", "Authenticated sockets", metrics.connections.clone());
        registry.register_collector(Box::new(metrics.traffic.clone()));
        registry.register("closes", "Sockets closed, by the code that was sent or received", metrics.closes.clone());
        registry.register("refused", "Connections and upgrades turned away, by reason", metrics.refused.clone());
        metrics
    }

    /// Counts what one more thread hears and says.
    pub fn flow(&self) -> Arc<Flow> {
        self.traffic.flow()
    }

    pub fn refused(&self, reason: Refused) {
        self.refused.get_or_create(&Reason { reason }).inc();
    }

    pub fn closed(&self, code: u16) {
        self.closes.get_or_create(&Code { code }).inc();
    }
}

/// All that is counted, as OpenMetrics text.
pub fn page(registry: &Registry) -> Response {
    let mut page = String::new();
    text::encode(&mut page, registry).expect("a String takes all that is written to it");
    ([(header::CONTENT_TYPE, TEXT_TYPE)], page).into_response()
}
