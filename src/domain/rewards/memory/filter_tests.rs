//! How often a filter is wrong, and what it takes.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::model::rewards::rule::{Per, RewardRule, RuleMemory};
use crate::model::shard::Shards;

const ASKED: u64 = 1_000;

fn estimate(expected: u64, probability: f64) -> Estimate {
    let memory = RuleMemory::Bloom { expected, probability };
    let rule = RewardRule {
        id: "first-view".to_owned(),
        per: Per::Content,
        kinds: Vec::new(),
        watched: std::time::Duration::ZERO,
        memory,
    };
    Estimate::of(&rule, Shards::DEFAULT).unwrap()
}

/// The share of wrong denials of 100 filters that were marked `items` times each.
fn wrong(estimate: &Estimate, items: u64) -> f64 {
    let mut random = StdRng::seed_from_u64(items);
    let mut wrong = 0;
    for _ in 0..100 {
        let mut filter = Filter::default();
        let viewed: Vec<_> = (0..items).map(|_| (UserId(random.random()), random.random_range(0..1_000))).collect();
        let content = |oid| Content { kind: 1, oid };
        viewed.iter().for_each(|(user, oid)| filter.mark(*user, content(*oid), estimate));
        assert!(viewed.iter().all(|(user, oid)| filter.knows(*user, content(*oid))), "never a false negative");
        wrong += (0..ASKED).filter(|oid| filter.knows(UserId(random.random()), content(*oid))).count();
    }
    wrong as f64 / (100 * ASKED) as f64
}

#[test]
fn wrong_denials_are_as_many_as_configured() {
    for (expected, probability) in [(1_000_000, 0.01), (1_000_000, 0.001), (100_000, 0.01), (10_000, 0.05)] {
        let estimate = estimate(expected, probability);
        for items in [expected / 1_000, estimate.items_per_shard] {
            let measured = wrong(&estimate, items);
            println!("{items} of {} items, {probability} configured: {measured} measured", estimate.items_per_shard);
            assert!(measured <= 1.5 * probability, "{measured} of {probability}");
            // Were the filter roomier than configured it would take more memory than was said.
            assert!(items < estimate.items_per_shard || measured >= 0.5 * probability, "{measured} of {probability}");
        }
    }
}

#[test]
fn it_is_made_as_estimated() {
    for (expected, probability) in [(1_000_000, 0.01), (50, 0.3), (1, 0.5), (100_000_000, 0.000_001)] {
        let estimate = estimate(expected, probability);
        let bloom = made(&estimate);
        assert_eq!((bloom.len(), bloom.number_of_hash_functions()), (estimate.bits_per_shard, estimate.hashes));
        let bytes = bloom.as_slice().len() as u64;
        assert!(bytes <= estimate.bytes_per_shard && estimate.bytes_per_shard <= bytes + 360, "{bytes}: {estimate}");
    }
}

#[test]
fn an_estimate_can_be_read() {
    let told = estimate(1_000_000, 0.01).to_string();
    let expected = "first-view: a bloom filter for 1000000 claims a day, of which 0.01 may be denied wrongly: 1127 claims, \
                    10808 bits, 7 hashes and 1711 bytes a shard, 1.7 MB in all";
    assert_eq!(told, expected);
}
