//! Packs of history: what is published, and what is not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use heartline::model::beat::State;
use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::pack::{Pack, PackedRecord, PackedRow, UserPack};
use heartline::model::shard::{Region, Shards};
use heartline::model::version::Version;
use heartline::storage::config::kafka::KafkaConfig;
use heartline::storage::delivery::{Delivery, Receipt, Report};
use heartline::storage::history_bus::{HistoryBus, MESSAGE_BYTES_MAX, PackMessage, codec};
use heartline::storage_kafka::history_bus::KafkaHistory;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use crate::kafka_bus::broker::{Broker, shared};
use crate::kafka_bus::reader::{Raw, read_raw};
use crate::kafka_bus::topics::{is_made, make, until};
use crate::kafka_bus::{PATIENCE, settings};

/// The users of a region below 10,000, each with one row.
pub fn pack(region: Region) -> Pack {
    let users = (0..10_000).map(UserId).filter(|user| Shards::DEFAULT.of(*user).region() == region);
    let record = |user: UserId| PackedRecord {
        pos: 61_000,
        dur: 7_200_000,
        state: State::Playing,
        session: SessionId(rand::random()),
        device: Arc::from("tv"),
        watched: 5_000,
        at: 1_795_150_000_000 + user.0,
    };
    let row = |user: UserId| PackedRow {
        content: Content { kind: 1, oid: 100 },
        record: Some(record(user)),
        tombstone: 0,
        version: Version::first_of(1_795_150_000_000 + user.0),
    };
    let users = users.map(|user| UserPack { user, forgetting: None, rows: vec![row(user)] });
    Pack { deployment: "test".into(), region, retention: None, users: users.collect() }
}

pub fn open(kafka: &KafkaConfig) -> KafkaHistory {
    KafkaHistory::open(kafka).unwrap()
}

/// Hands these bytes over, each as a message of its region; their reports come here, by their index.
pub fn publish(
    bus: &dyn HistoryBus,
    messages: impl IntoIterator<Item = (Region, Vec<u8>)>,
) -> UnboundedReceiver<Report> {
    let (receipts, reports) = unbounded_channel();
    for ((region, bytes), number) in messages.into_iter().zip(0..) {
        bus.publish(PackMessage { region, bytes, receipt: Receipt::new(number, receipts.clone()) });
    }
    reports
}

/// All that are reported, by their index.
pub async fn deliveries(mut reports: UnboundedReceiver<Report>) -> Vec<Delivery> {
    let mut all = BTreeMap::new();
    while let Some(Report { number, delivery }) = timeout(PATIENCE, reports.recv()).await.expect("a report in time") {
        assert!(all.insert(number, delivery).is_none(), "{number} is reported twice");
    }
    all.into_values().collect()
}

fn incompressible(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|_| rand::random()).collect()
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn a_pack_is_a_message_under_its_region() {
    let kafka = settings(&shared());
    let packs: Vec<Pack> = Region::all().map(pack).collect();
    let messages: Vec<_> = packs.iter().map(|pack| (pack.region, codec::encode(pack))).collect();
    let bus = open(&kafka);
    let published = deliveries(publish(&bus, messages.clone())).await;
    assert_eq!(published, vec![Delivery::Published; 100]);
    let all = read_raw(&kafka.brokers[0], &kafka.topics.history);
    let by_key: BTreeMap<&str, &Raw> = all.iter().map(|raw| (raw.key.as_str(), raw)).collect();
    assert_eq!((all.len(), by_key.len()), (100, 100), "no pack comes twice while nothing fails");
    for ((region, bytes), pack) in messages.iter().zip(&packs) {
        let raw = by_key[region.0.to_string().as_str()];
        assert_eq!((&raw.value, raw.headers.len()), (bytes, 0));
        assert_eq!(codec::decode(&raw.value).as_ref(), Ok(pack));
    }
    let used: BTreeSet<i32> = all.iter().map(|raw| raw.partition).collect();
    assert_eq!(used.len(), 6, "all partitions are used");
    assert_eq!(bus.complaints(), [""; 0]);
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn a_missing_topic_is_made_for_history() {
    let kafka = settings(&shared());
    let bus = open(&kafka);
    deliveries(publish(&bus, [(Region(0), codec::encode(&pack(Region(0))))])).await;
    let settings = [
        ("min.insync.replicas", "1"),
        ("retention.ms", "172800000"),
        ("cleanup.policy", "delete"),
        ("max.message.bytes", "2097152"),
        ("unclean.leader.election.enable", "false"),
    ];
    is_made(&kafka.topics.history, &settings).await;
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn a_topic_with_other_settings_is_reported_and_used() {
    let kafka = settings(&shared());
    make(&kafka.topics.history, &[("retention.ms", "3600000"), ("max.message.bytes", "1048588")]).await;
    let bus = open(&kafka);
    let published = deliveries(publish(&bus, [(Region(0), codec::encode(&pack(Region(0))))])).await;
    assert_eq!(published, [Delivery::Published]);
    let complaints = until(&bus, |complaints| complaints.len() == 2).await;
    let retention = "retention.ms is 3600000, but kafka.history_retention is 2days; set retention.ms to 172800000";
    let bytes = "max.message.bytes is 1048588: large messages are refused; set it to 2097152";
    for what in [retention, bytes] {
        assert!(complaints.contains(&format!("topic {}: {what}", kafka.topics.history)), "{complaints:?}");
    }
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn the_longest_message_is_published_and_a_longer_one_refused() {
    let kafka = settings(&shared());
    let bus = open(&kafka);
    let longest = incompressible(MESSAGE_BYTES_MAX);
    // Two at once, so that a batch could be too long for the topic.
    let messages = [longest.clone(), longest.clone(), incompressible(MESSAGE_BYTES_MAX + 2048)];
    let all = deliveries(publish(&bus, messages.map(|bytes| (Region(99), bytes)))).await;
    assert_eq!(all[..2], [Delivery::Published, Delivery::Published]);
    assert!(matches!(&all[2], Delivery::Refused(why) if why.contains("too large")), "{:?}", all[2]);
    let read = read_raw(&kafka.brokers[0], &kafka.topics.history);
    assert_eq!(read.iter().map(|raw| raw.value == longest).collect::<Vec<_>>(), [true, true]);
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn a_pack_that_waits_for_a_broker_is_published_when_it_is_back() {
    let mut broker = Broker::start();
    let mut kafka = settings(&broker.address());
    kafka.delivery_timeout = PATIENCE;
    let bus = open(&kafka);
    let message = || [(Region(3), codec::encode(&pack(Region(3))))];
    assert_eq!(deliveries(publish(&bus, message())).await, [Delivery::Published]);
    broker.kill();
    let mut reports = publish(&bus, message());
    until(&bus, |complaints| complaints.iter().any(|what| what.contains("Kafka does not answer"))).await;
    assert!(reports.try_recv().is_err(), "no broker has it yet");
    broker.start_again();
    assert_eq!(deliveries(reports).await, [Delivery::Published]);
    until(&bus, <[String]>::is_empty).await;
    assert_eq!(read_raw(&kafka.brokers[0], &kafka.topics.history).len(), 2);
}

#[tokio::test]
async fn without_a_broker_a_pack_is_given_up_and_too_many_are_refused() {
    let mut kafka = settings("127.0.0.1:9");
    kafka.delivery_timeout = Duration::from_secs(2);
    let bus = open(&kafka);
    // Half as many again as the queue has room for.
    let all = deliveries(publish(&bus, (0..48).map(|_| (Region(1), vec![0; MESSAGE_BYTES_MAX])))).await;
    let given_up =
        all.iter().filter(|delivery| matches!(delivery, Delivery::Unknown(why) if why.contains("2s"))).count();
    let refused = |delivery: &&Delivery| matches!(delivery, Delivery::Refused(why) if why.contains("too much waits"));
    assert_eq!((given_up, all.iter().filter(refused).count()), (32, 16), "{all:?}");
}
