//! What will be needed, before it is taken.

use std::fmt;

use bloomfilter::Bloom;

use crate::model::rewards::rule::{Per, RewardRule, RuleMemory, Rules};
use crate::model::shard::Shards;

/// The bloom filters of one rule, if it has any.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    pub rule: String,
    /// Claims a day, as the settings say.
    pub expected: u64,
    /// Share (0 to 1) that may be denied wrongly, as the settings say.
    pub probability: f64,
    /// What a filter is made for. It is trusted up to here.
    pub items_per_shard: u64,
    pub bits_per_shard: u64,
    pub hashes: u32,
    pub bytes_per_shard: u64,
    /// When all shards have theirs.
    pub bytes: u64,
}

/// Of each filter beside its bits: its keys, its header, and what the allocator and its shard add.
const BYTES_BESIDE: u64 = 360;

impl Estimate {
    /// `None`: no filter stands in front of the rule.
    pub fn of(rule: &RewardRule, shards: Shards) -> Option<Self> {
        let RuleMemory::Bloom { expected, probability } = rule.memory else { return None };
        if rule.per == Per::User {
            return None;
        }
        let items = share(expected, shards);
        let bits_bytes = Bloom::<()>::compute_bitmap_size(items as usize, probability) as u64;
        let bits = bits_bytes * 8;
        let bytes = bits_bytes + BYTES_BESIDE;
        Some(Estimate {
            rule: rule.id.clone(),
            expected,
            probability,
            items_per_shard: items,
            bits_per_shard: bits,
            hashes: (bits as f64 / items as f64 * std::f64::consts::LN_2).round().max(1.0) as u32,
            bytes_per_shard: bytes,
            bytes: bytes * u64::from(shards.count()),
        })
    }

    /// Of all rules with filters, in their order.
    pub fn all(rules: &Rules, shards: Shards) -> Vec<Self> {
        rules.iter().filter_map(|(_, rule)| Estimate::of(rule, shards)).collect()
    }
}

/// What one shard must hold of so many: an even share, and four times its standard deviation, since a hash does not
/// share evenly. One shard in 30,000 gets more, if all come one by one.
pub fn share(total: u64, shards: Shards) -> u64 {
    let even = total as f64 / f64::from(shards.count());
    (even + 4.0 * even.sqrt()).ceil().max(1.0) as u64
}

/// One line for the log.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: a bloom filter for {} claims a day, of which {} may be denied wrongly: {} claims, {} bits, {} hashes and \
             {} bytes a shard, {} in all",
            self.rule,
            self.expected,
            self.probability,
            self.items_per_shard,
            self.bits_per_shard,
            self.hashes,
            self.bytes_per_shard,
            Megabytes(self.bytes),
        )
    }
}

struct Megabytes(u64);

impl fmt::Display for Megabytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} MB", self.0 as f64 / 1e6)
    }
}
