//! Metrics of the memory.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::{Kept, LookupReason};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LookupReasonLabel {
    asker: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RuleLabel {
    rule: String,
}

/// Users whose rules were looked up in the bitmaps.
pub struct Lookups {
    welcome: Counter,
    beat: Counter,
}

impl Lookups {
    pub fn new(registry: &mut Registry) -> Self {
        let family = Family::<LookupReasonLabel, Counter>::default();
        let counter = |asker| family.get_or_create(&LookupReasonLabel { asker }).clone();
        let lookups = Lookups { welcome: counter("welcome"), beat: counter("beat") };
        let help = "Users whose reward rules were looked up in the bitmaps";
        registry.register("reward_lookups", help, family);
        lookups
    }

    pub fn count(&self, reason: LookupReason) {
        match reason {
            LookupReason::Welcome => self.welcome.inc(),
            LookupReason::Beat => self.beat.inc(),
        };
    }
}

/// The contents of the memory for the newest day, counted at each scrape.
pub struct Contents(pub Arc<Kept>);

#[derive(Clone, Copy, Default)]
struct Sums {
    items: u64,
    bytes: usize,
    full: u64,
}

impl Contents {
    /// Sums by the indexes of the rules. Shards that still hold an older day add its bytes, but not its items.
    fn sums(&self) -> Vec<Sums> {
        let mut sums = vec![Sums::default(); self.0.rules.count()];
        let newest = self.0.shards().map(|shard| shard.day()).max().flatten();
        for shard in self.0.shards() {
            let current = u64::from(shard.day() == newest);
            for (index, sum) in sums.iter_mut().enumerate() {
                let filter = shard.filter(index);
                sum.items += current * (shard.bitmaps.len(index) + filter.map_or(0, |filter| filter.items()));
                sum.bytes += filter.map_or(0, |filter| filter.bytes());
                sum.full += current * u64::from(filter.is_some_and(|filter| filter.full()));
            }
        }
        sums
    }
}

/// Required by the registry; the claims of users are left out of debug output.
impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Contents")
    }
}

impl Collector for Contents {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let sums = self.sums();
        let mut family = |name: &str, help: &str, of: &dyn Fn(&Sums) -> i64| {
            let gauge = ConstGauge::new(0_i64);
            let mut family = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
            for (index, rule) in self.0.rules.rewards() {
                let label = RuleLabel { rule: rule.id.to_string() };
                ConstGauge::new(of(&sums[index])).encode(family.encode_family(&label)?)?;
            }
            Ok(())
        };
        family("reward_filter_items", "Claims of today in the bitmaps and filters", &|sums| sums.items as i64)?;
        family("reward_filter_bytes", "Memory of the bloom filters", &|sums| sums.bytes as i64)?;
        family("reward_filters_full", "Shards whose filter is full", &|sums| sums.full as i64)
    }
}
