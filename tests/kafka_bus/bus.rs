//! Published events, and their order.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::kafka_bus::broker::shared;
use crate::kafka_bus::publishing::publish;
use crate::kafka_bus::reader::{Read, read};
use crate::kafka_bus::relayed::Relayed;
use crate::kafka_bus::{claim, open, settings};

pub const USERS: u64 = 100;

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn an_event_is_a_cloud_event_in_binary_mode_under_its_user() {
    let kafka = settings(&shared());
    let mut of_user = claim(u64::MAX, 100);
    (of_user.key.content, of_user.device) = (None, "\"ü\"".into());
    publish(&open(&kafka), [claim(42, 7), of_user]).await.unwrap();
    let mut all = read(&kafka.brokers[0], &kafka.topics.rewards);
    all.sort_by_key(|read| read.key.len());
    let expected = |id: &str, mid: &str| -> BTreeMap<String, String> {
        let headers = [
            ("ce_specversion", "1.0"),
            ("ce_id", id),
            ("ce_source", "/heartline/test-1"),
            ("ce_type", "dev.heartline.reward.v1"),
            ("ce_subject", mid),
            ("ce_time", "2026-11-20T04:46:40.118Z"),
            ("ce_partitionkey", mid),
            ("content-type", "application/json"),
        ];
        headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    };
    let mid = "18446744073709551615";
    assert_eq!(all[0].headers, expected("first-view:2026-11-20:42:1:7", "42"));
    assert_eq!(all[1].headers, expected(&format!("first-view:2026-11-20:{mid}"), mid));
    assert_eq!((all[0].key.as_str(), all[1].key.as_str(), all.len()), ("42", mid, 2));
    let value = json!({
        "rule": "first-view", "mid": mid, "day": "2026-11-20", "zone": "UTC", "kind": 1, "oid": "100", "session": "7",
        "device": "\"ü\"", "watched": 5_000, "claimed_at": 1_795_150_000_118_u64,
    });
    assert_eq!(all[1].value, value);
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn events_of_a_user_share_a_partition_and_keep_their_order() {
    let kafka = settings(&shared());
    let relayed = Relayed::start(&kafka);
    relayed.claim((0..10_000).map(|number| claim(number % USERS, number)));
    relayed.drained().await;
    publish(&open(&kafka), []).await.unwrap();
    let all = read(&kafka.brokers[0], &kafka.topics.rewards);
    assert_eq!(all.len(), 10_000, "no event comes twice while nothing fails");
    has_all_in_order(&all, 10_000);
    let used: BTreeSet<i32> = all.iter().map(|read| read.partition).collect();
    assert_eq!(used.len(), 6, "all partitions are used");
}

/// Each of the numbers below `count` is there, and the first of each in the order of its user, in one partition.
pub fn has_all_in_order(all: &[Read], count: u64) {
    let mut seen = BTreeSet::new();
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    let mut partition: BTreeMap<&str, i32> = BTreeMap::new();
    for read in all {
        assert_eq!(*partition.entry(&read.key).or_insert(read.partition), read.partition, "user {}", read.key);
        assert_eq!(read.key, (read.number() % USERS).to_string());
        if !seen.insert(read.number()) {
            continue;
        }
        let before = last.insert(&read.key, read.number());
        assert!(before < Some(read.number()), "user {}: {} after {before:?}", read.key, read.number());
    }
    let missing: Vec<u64> = (0..count).filter(|number| !seen.contains(number)).collect();
    assert!(missing.is_empty(), "{} are missing: {missing:?}", missing.len());
}
