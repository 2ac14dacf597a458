//! Estimates of the memory of the rewards, made before it is used. The figures were measured, and
//! `tests/rewards_memory.rs` checks them.

use std::fmt;
use std::sync::Arc;

use bloomfilter::Bloom;

use crate::rewards::config::RewardsConfig;
use model::rewards::rule::{Per, RewardRule, RuleMemory};
use model::shard::Shards;

/// The bloom filters of one rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    pub rule: Arc<str>,
    /// Claims a day, as configured.
    pub expected: u64,
    /// The false-positive rate (0 to 1), as configured.
    pub probability: f64,
    /// The store has another filter of the same size.
    pub twofold: bool,
    /// The items that a filter is made for. A filter with more items is dropped.
    pub items_per_shard: u64,
    pub bits_per_shard: u64,
    pub hashes: u32,
    pub bytes_per_shard: u64,
    /// Bytes of all shards together, once each has a filter.
    pub bytes: u64,
}

/// Bytes of a claim in a bitmap if users are numbered consecutively.
pub const DENSE_CLAIM_BYTES: u64 = 5;

/// Bytes of a claim in a bitmap if the ids of users are random numbers of 64 bits.
pub const RANDOM_CLAIM_BYTES: u64 = 250;

pub const RECENT_USER_BYTES: u64 = 100;

/// Bytes of each filter beside its bits: its keys, its header, and the overhead of the allocator and of its shard.
const BYTES_BESIDE: u64 = 360;

impl Estimate {
    /// `None`: the rule has no filter. `alone`: the store, which several gateways would share, has no filter either.
    /// Each of two filters is made for half of the probability, since a claim is denied if either denies it.
    pub fn of(rule: &RewardRule, shards: Shards, alone: bool) -> Option<Self> {
        let RuleMemory::Bloom { expected, probability } = rule.memory else { return None };
        if rule.per == Per::User {
            return None;
        }
        let items = shards.share(expected);
        let own = if alone { probability } else { probability / 2.0 };
        let bits_bytes = Bloom::<()>::compute_bitmap_size(items as usize, own) as u64;
        let bits = bits_bytes * 8;
        let bytes = bits_bytes + BYTES_BESIDE;
        Some(Estimate {
            rule: rule.id.clone(),
            expected,
            probability,
            twofold: !alone,
            items_per_shard: items,
            bits_per_shard: bits,
            hashes: (bits as f64 / items as f64 * std::f64::consts::LN_2).round().max(1.0) as u32,
            bytes_per_shard: bytes,
            bytes: bytes * u64::from(shards.count()),
        })
    }
}

/// A line for each rule, and one for the recent users: the most memory that they take. `alone`: the gateway shares its
/// store with no other.
pub fn lines(config: &RewardsConfig, shards: Shards, alone: bool) -> Vec<String> {
    let count = u64::from(shards.count());
    let (rules, recent) = (config.rules(), (config.recent_users as u64).next_multiple_of(count));
    let claims = shards.share(config.remembered_claims as u64) * count;
    let line = |rule: &RewardRule| match (rule.per, Estimate::of(rule, shards, alone)) {
        (_, Some(estimate)) => estimate.to_string(),
        (Per::Content, None) => format!("{}: exact, and in the store only", rule.id),
        (Per::User, None) => format!(
            "{}: exact, bitmaps for {claims} claims a day of all rules per user: {} if ids are dense, {} if they are \
             random",
            rule.id,
            Megabytes(claims * DENSE_CLAIM_BYTES),
            Megabytes(claims * RANDOM_CLAIM_BYTES),
        ),
    };
    let recent_users = format!("recent users: {recent}, {}", Megabytes(recent * RECENT_USER_BYTES));
    rules.iter().map(|(_, rule)| line(rule)).chain([recent_users]).collect()
}

/// Without the digits that binary fractions add: 0.07 is 7 %.
fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

/// One line for the log.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: a bloom filter for {} claims a day, false-positive rate {} %: {} claims, {} bits, {} hashes and \
             {} bytes a shard, {} in all",
            self.rule,
            self.expected,
            percent(self.probability),
            self.items_per_shard,
            self.bits_per_shard,
            self.hashes,
            self.bytes_per_shard,
            Megabytes(self.bytes),
        )?;
        match self.twofold {
            true => write!(f, "; and as much in the store, each with half the false-positive rate"),
            false => Ok(()),
        }
    }
}

struct Megabytes(u64);

impl fmt::Display for Megabytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} MB", self.0 as f64 / 1e6)
    }
}
