//! What is counted where the world comes in.

use std::sync::atomic::AtomicI64;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Direction {
    direction: &'static str,
}

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
    /// Bytes of messages, without their framing.
    pub bytes_in: Counter,
    pub bytes_out: Counter,
    pub frames_in: Counter,
    pub frames_out: Counter,
    closes: Family<Code, Counter>,
    refused: Family<Reason, Counter>,
}

impl Metrics {
    pub fn new(registry: &mut Registry) -> Self {
        let (bytes, frames) = (Family::<Direction, Counter>::default(), Family::<Direction, Counter>::default());
        let of =
            |family: &Family<Direction, Counter>, direction| family.get_or_create(&Direction { direction }).clone();
        let metrics = Metrics {
            connections: Gauge::default(),
            bytes_in: of(&bytes, "in"),
            bytes_out: of(&bytes, "out"),
            frames_in: of(&frames, "in"),
            frames_out: of(&frames, "out"),
            closes: Family::default(),
            refused: Family::default(),
        };
        registry.register("connections", "Authenticated sockets", metrics.connections.clone());
        registry.register("socket_bytes", "Bytes of messages over sockets, without their framing", bytes);
        registry.register("frames", "Messages over sockets, pings and pongs included", frames);
        registry.register("closes", "Sockets closed, by the code that was sent or received", metrics.closes.clone());
        registry.register("refused", "Connections and upgrades turned away, by reason", metrics.refused.clone());
        metrics
    }

    pub fn refused(&self, reason: Refused) {
        self.refused.get_or_create(&Reason { reason }).inc();
    }

    pub fn closed(&self, code: u16) {
        self.closes.get_or_create(&Code { code }).inc();
    }
}
