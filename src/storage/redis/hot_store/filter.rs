//! The filters in the store: the positions of the bits of claims.
//!
//! A claim passes a filter in a gateway's memory and one in a string of Redis, so each filter is made for half of the
//! probability that the settings allow. The positions of the bits depend on the deployment and the day: a content that
//! is denied wrongly today is not denied again tomorrow, and the bits of one filter cannot be guessed from another.

use std::f64::consts::LN_2;
use std::fmt;
use std::str::FromStr;

use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::Hasher;

use super::bytes::DecodeError;
use model::ids::{Content, UserId};
use model::rewards::day::Day;
use model::rewards::rule::{Per, RewardRule, RuleMemory};
use model::shard::Shards;

/// The filter of one rule in one shard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filter {
    /// The number of items it takes; further claims are kept exactly.
    pub items: u32,
    bits: u32,
    hashes: u8,
}

/// The stored form: the numbers of its items, of its bits, and of the bits that an item sets.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.items, self.bits, self.hashes)
    }
}

impl FromStr for Filter {
    type Err = DecodeError;

    fn from_str(text: &str) -> Result<Self, DecodeError> {
        let mut numbers = text.split(' ').map(str::parse::<u32>);
        let (Some(Ok(items)), Some(Ok(bits)), Some(Ok(hashes)), None) =
            (numbers.next(), numbers.next(), numbers.next(), numbers.next())
        else {
            return Err(DecodeError("a filter"));
        };
        let hashes = u8::try_from(hashes).map_err(|_| DecodeError("a filter"))?;
        (bits > 0).then_some(Filter { items, bits, hashes }).ok_or(DecodeError("a filter"))
    }
}

/// Computes the positions of bits for the contents of one rule and day.
#[derive(Clone)]
pub struct BitPositions {
    filter: Filter,
    hash: SipHasher24,
}

impl Filter {
    /// A string of Redis may have 512 MiB.
    const BITS_MAX: f64 = ((1_u64 << 32) - 64) as f64;

    /// `None`: claims of this rule are kept exactly.
    pub fn of(rule: &RewardRule, shards: Shards) -> Option<Self> {
        let RuleMemory::Bloom { expected, probability } = rule.memory else { return None };
        if rule.per == Per::User {
            return None;
        }
        let items = shards.share(expected) as f64;
        // See Bloom, "Space/time trade-offs in hash coding with allowable errors" (1970).
        let bits_an_item = -(probability / 2.0).ln() / (LN_2 * LN_2);
        let items = items.min(Self::BITS_MAX / bits_an_item).floor();
        let bits = (items * bits_an_item).ceil();
        let hashes = (bits / items * LN_2).round().clamp(1.0, 64.0);
        Some(Filter { items: items as u32, bits: bits as u32, hashes: hashes as u8 })
    }

    pub fn positions(self, deployment: &str, day: Day, rule: &str) -> BitPositions {
        let mut key = SipHasher24::new();
        for part in [deployment.as_bytes(), &day.number().to_be_bytes(), rule.as_bytes()] {
            key.write(&(part.len() as u64).to_be_bytes());
            key.write(part);
        }
        BitPositions { filter: self, hash: SipHasher24::new_with_key(&key.finish128().as_bytes()) }
    }
}

impl BitPositions {
    pub fn filter(&self) -> Filter {
        self.filter
    }

    /// The bit positions of a claim, as many as there are hashes. They are made from the two halves of one hash, and
    /// mixed again: otherwise the positions of two items would coincide far too often in a small filter.
    pub fn of(&self, user: UserId, content: Content) -> impl Iterator<Item = u32> {
        let mut item = [0; 18];
        item[..8].copy_from_slice(&user.0.to_be_bytes());
        item[8..].copy_from_slice(&super::keys::content(content));
        let hash = self.hash.hash(&item);
        let bits = u64::from(self.filter.bits);
        let mixed = move |number: u64| mix(hash.h1.wrapping_add(number.wrapping_mul(hash.h2 | 1)));
        (0..u64::from(self.filter.hashes)).map(move |number| (mixed(number) % bits) as u32)
    }
}

/// See Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use super::*;

    fn filter(expected: u64, probability: f64) -> Filter {
        let rule = RewardRule {
            id: "seen".into(),
            per: Per::Content,
            kinds: Vec::new(),
            watched: Duration::ZERO,
            memory: RuleMemory::Bloom { expected, probability },
        };
        Filter::of(&rule, Shards::DEFAULT).unwrap()
    }

    fn content(oid: u64) -> Content {
        Content { kind: 1, oid }
    }

    /// The share of wrong denials of `filters` full ones.
    fn wrong(filter: Filter, filters: u16) -> f64 {
        let mut wrong = 0;
        for day in 0..filters {
            let positions = filter.positions("d", Day::of_number(day), "seen");
            let mut bits = HashSet::new();
            (0..u64::from(filter.items)).for_each(|oid| bits.extend(positions.of(UserId(oid % 97), content(oid))));
            let denied = |oid: &u64| positions.of(UserId(1_000), content(*oid)).all(|at| bits.contains(&at));
            wrong += (0..2_000).filter(denied).count();
        }
        wrong as f64 / (2_000.0 * f64::from(filters))
    }

    #[test]
    fn a_full_filter_denies_wrongly_with_half_of_the_probability() {
        for (expected, probability, filters) in
            [(1_000_000, 0.01, 30), (20_000_000, 0.1, 5), (1_000, 0.01, 200), (1, 0.01, 200)]
        {
            let wrong = wrong(filter(expected, probability), filters) / (probability / 2.0);
            assert!((0.5..1.4).contains(&wrong), "{wrong} times as many of {expected}");
        }
    }

    #[test]
    fn filter_bits_are_within_bounds_and_differ_by_day() {
        let filter = filter(1, 0.000_001);
        let on = |day| -> Vec<u32> {
            filter.positions("d", Day::of_number(day), "seen").of(UserId(1), content(1)).collect()
        };
        assert!(on(20_000).iter().all(|at| *at < filter.bits));
        assert_ne!(on(20_000), on(20_001));
        assert_eq!(on(20_000), on(20_000));
    }
}
