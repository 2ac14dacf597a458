//! The metrics of the device channel.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;

use super::RedisChannel;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    why: &'static str,
}

/// Why a message was dropped, as far as this gateway knows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dropped {
    /// Redis, or the node that has the shard, is not connected, or was lost on the way.
    Away,
    /// The queue was full.
    Full,
    /// It was received and could not be decoded.
    DecodeError,
}

#[derive(Clone)]
pub(super) struct Metrics {
    pub told: Counter,
    pub heard: Counter,
    pub lines: Gauge<i64, AtomicI64>,
    dropped: Family<Labels, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let (told, heard, lines) = (Counter::default(), Counter::default(), Gauge::default());
        let metrics = Metrics { told, heard, lines, dropped: Family::default() };
        // Shown as 0 from the start, so that the first one is an increase.
        [Dropped::Away, Dropped::Full, Dropped::DecodeError].into_iter().for_each(|why| metrics.dropped(why, 0));
        metrics
    }
}

impl Metrics {
    pub fn register(&self, registry: &mut Registry) {
        registry.register("channel_told", "Messages sent to other gateways", self.told.clone());
        registry.register("channel_heard", "Messages received from other gateways", self.heard.clone());
        registry.register(
            "channel_dropped",
            "Messages between gateways that were dropped, by why: away, full, malformed",
            self.dropped.clone(),
        );
        registry.register("channel_lines", "Connections used for the device channel", self.lines.clone());
    }

    pub fn dropped(&self, why: Dropped, count: u64) {
        let why = match why {
            Dropped::Away => "away",
            Dropped::Full => "full",
            Dropped::DecodeError => "malformed",
        };
        self.dropped.get_or_create(&Labels { why }).inc_by(count);
    }
}

/// Reads the number of subscriptions at each scrape.
pub(super) struct Subscriptions(pub Arc<RedisChannel>);

impl std::fmt::Debug for Subscriptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Subscriptions")
    }
}

impl Collector for Subscriptions {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let users = ConstGauge::new(self.0.followed().subscribed() as i64);
        let help = "Users subscribed to on the device channel";
        users.encode(encoder.encode_descriptor("channel_users", help, None, users.metric_type())?)
    }
}
