//! The rate of wrong answers of a filter, and its size.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::super::estimate::lines;
use super::*;
use crate::rewards::config::{PerConfig, RewardsConfig, RuleConfig};
use model::rewards::rule::{Per, RewardRule, RuleMemory};
use model::shard::Shards;

const ASKED: u64 = 1_000;

fn estimate(expected: u64, probability: f64) -> Estimate {
    let memory = RuleMemory::Bloom { expected, probability };
    let rule = RewardRule {
        id: "first-view".into(),
        per: Per::Content,
        kinds: Vec::new(),
        watched: std::time::Duration::ZERO,
        memory,
    };
    Estimate::of(&rule, Shards::DEFAULT, true).unwrap()
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
            // A filter with fewer wrong denials would take more memory than estimated.
            assert!(items < estimate.items_per_shard || measured >= 0.5 * probability, "{measured} of {probability}");
        }
    }
}

#[test]
fn a_filter_is_made_as_estimated() {
    for (expected, probability) in [(1_000_000, 0.01), (50, 0.3), (1, 0.5), (100_000_000, 0.000_001)] {
        let estimate = estimate(expected, probability);
        let bloom = made(&estimate);
        assert_eq!((bloom.len(), bloom.number_of_hash_functions()), (estimate.bits_per_shard, estimate.hashes));
        let bytes = bloom.as_slice().len() as u64;
        assert!(bytes <= estimate.bytes_per_shard && estimate.bytes_per_shard <= bytes + 360, "{bytes}: {estimate}");
    }
}

#[test]
fn every_rule_has_a_line_with_its_memory() {
    let rule = |id: &str, per, bloom: Option<(u64, f64)>| RuleConfig {
        id: id.to_owned(),
        per,
        kinds: Vec::new(),
        watched: std::time::Duration::ZERO,
        exact: bloom.is_none(),
        expected: bloom.map(|(expected, _)| expected),
        probability: bloom.map(|(_, probability)| probability),
    };
    let rules = vec![
        rule("first-of-day", PerConfig::User, None),
        rule("first-view", PerConfig::Content, Some((1_000_000, 0.01))),
        rule("every-view", PerConfig::Content, None),
    ];
    let (recent_users, remembered_claims) = (99_001, 1_000_000);
    let config = RewardsConfig { zone: "UTC".to_owned(), rules, recent_users, remembered_claims, outbox: 1 };
    let lines = lines(&config, Shards::DEFAULT, true);
    let expected = [
        "first-of-day: exact, bitmaps for 1127000 claims a day of all rules per user: 5.6 MB if ids are dense, 281.8 MB \
         if they are random",
        "first-view: a bloom filter for 1000000 claims a day,",
        "every-view: exact, and in the store only",
        "recent users: 100000, 10.0 MB",
    ];
    assert_eq!(lines.len(), expected.len());
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}");
    }
}

#[test]
fn an_estimate_can_be_read() {
    let told = estimate(1_000_000, 0.01).to_string();
    let expected = "first-view: a bloom filter for 1000000 claims a day, false-positive rate 1 %: 1127 claims, \
                    10808 bits, 7 hashes and 1711 bytes a shard, 1.7 MB in all";
    assert_eq!(told, expected);
}

#[test]
fn each_of_two_filters_is_made_for_half() {
    let memory = RuleMemory::Bloom { expected: 1_000_000, probability: 0.01 };
    let (id, watched) = ("seen".into(), std::time::Duration::ZERO);
    let rule = RewardRule { id, per: Per::Content, kinds: Vec::new(), watched, memory };
    let shared = Estimate::of(&rule, Shards::DEFAULT, false).unwrap();
    let measured = wrong(&shared, shared.items_per_shard);
    assert!((0.003..0.006).contains(&measured), "{measured}");
    assert!(shared.to_string().contains("and as much in the store"), "{shared}");
}
