//! The source of events for consumers inside Heartline.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heartline::domain::time::clock;
use heartline::model::cloud_event::Source;
use heartline::model::content_name::ContentTexts;
use heartline::storage::config::kafka::KafkaConfig;
use heartline::storage::delivery::{Delivery, Receipt};
use heartline::storage::event_bus::archives::Archives;
use heartline::storage::event_bus::part::{Offsets, Part};
use heartline::storage::event_bus::source::{EventArchive, EventSource, Marks, PartEvents};
use heartline::storage::event_bus::{Event, EventBus, EventTopic, Offset};
use heartline::storage::owner_queues::Bounds;
use heartline::storage_embedded::owner_queues::EmbeddedQueues;
use heartline::storage_kafka::event_bus::KafkaEvents;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::topic_partition_list::{Offset as KafkaOffset, TopicPartitionList};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::sleep;

use crate::kafka_bus::broker::{Broker, shared};
use crate::kafka_bus::publishing::{DEPLOYMENT, publish};
use crate::kafka_bus::topics::{is_made, remove};
use crate::kafka_bus::{PATIENCE, claim, open, settings};

/// Reads on until something was read.
async fn read(source: &KafkaEvents) -> PartEvents {
    let (began, mut why) = (Instant::now(), String::new());
    while began.elapsed() < PATIENCE {
        match source.next().await {
            Ok(Some(read)) => return read,
            Ok(None) => {}
            Err(error) => why = error.to_string(),
        }
    }
    panic!("nothing is read: {why}");
}

async fn until_next(what: &str, source: &KafkaEvents, holds: impl Fn(bool) -> bool) {
    let began = Instant::now();
    while !holds(source.next().await.is_ok()) {
        assert!(began.elapsed() < PATIENCE, "{what}");
    }
}

/// Asks again while a broker does not know that it leads a new topic.
async fn ends(archive: &impl EventArchive) -> Offsets {
    let began = Instant::now();
    loop {
        match archive.ends().await {
            Ok(ends) => return ends,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
        }
    }
}

async fn commit(source: &KafkaEvents, read: PartEvents) {
    source.commit(read.part, read.to).await.unwrap();
}

fn source(kafka: &KafkaConfig) -> KafkaEvents {
    source_of(kafka, EventTopic::Rewards)
}

fn source_of(kafka: &KafkaConfig, topic: EventTopic) -> KafkaEvents {
    KafkaEvents::open(kafka, DEPLOYMENT, topic, marks()).unwrap()
}

/// As long as the test runs.
fn marks() -> Arc<dyn Marks> {
    let directory = tempfile::tempdir().unwrap().keep();
    let bounds = Bounds { events: 1, bytes: 1, age: Duration::from_secs(1) };
    Arc::new(EmbeddedQueues::open(&directory, bounds, Arc::new(clock::wall)).unwrap())
}

/// Events of user 1, which are in one partition.
async fn publish_three(kafka: &KafkaConfig) {
    let (bus, began) = (open(kafka), Instant::now());
    while publish(&bus, (1..=3).map(|number| claim(1, number))).await.is_err() {
        assert!(began.elapsed() < PATIENCE, "nothing is published");
    }
}

/// Reads until there are three, and commits them.
async fn three_of(source: &KafkaEvents) -> (Part, Vec<Offset>) {
    let (mut part, mut offsets) = (None, Vec::new());
    while offsets.len() < 3 {
        let batch = read(source).await;
        offsets.extend(batch.events.iter().map(|(offset, _)| *offset));
        part = Some(batch.part.clone());
        commit(source, batch).await;
    }
    (part.unwrap(), offsets)
}

/// Its offsets begin anew, and nothing that is known of the old ones counts.
#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn a_topic_that_was_made_anew_is_another_part_and_read_from_its_start() {
    for is_restarted in [false, true] {
        let (kafka, marks) = (settings(&shared()), marks());
        let open = || KafkaEvents::open(&kafka, DEPLOYMENT, EventTopic::Rewards, marks.clone()).unwrap();
        let mut source = open();
        publish_three(&kafka).await;
        let (before, offsets) = three_of(&source).await;
        assert_eq!((offsets, source.degraded()), (vec![1, 2, 3], None));
        if is_restarted {
            drop(source);
            remove(&kafka.topics.rewards).await;
            publish_three(&kafka).await;
            source = open();
        } else {
            remove(&kafka.topics.rewards).await;
            publish_three(&kafka).await;
        }
        let (after, offsets) = three_of(&source).await;
        assert_eq!((after.as_str(), offsets), (format!("{before}~1").as_str(), vec![1, 2, 3]));
        assert!(source.degraded().is_some() && source.has(&after));
        let ends = source.ends().await.unwrap();
        assert_eq!((ends.get(&after), ends.get(&before)), (Some(&3), None));
        assert_eq!(source.read(after, 0, 10).await.unwrap().events.len(), 3);
    }
}

/// Commits what it reads until it has read that offset. Some may come twice.
async fn read_to(source: &KafkaEvents, end: Offset) -> BTreeSet<Offset> {
    let (mut offsets, mut to) = (BTreeSet::new(), 0);
    while to < end {
        let batch = read(source).await;
        offsets.extend(batch.events.iter().map(|(offset, _)| *offset));
        to = batch.to;
        commit(source, batch).await;
    }
    offsets
}

/// As a member does that has not noticed that the topic was made anew.
fn commit_of_the_log_before(kafka: &KafkaConfig, offset: i64) {
    let mut settings = ClientConfig::new();
    settings.set("bootstrap.servers", &kafka.brokers[0]);
    settings.set("group.id", KafkaEvents::group(DEPLOYMENT, EventTopic::Rewards));
    let member: BaseConsumer = settings.create().unwrap();
    let mut offsets = TopicPartitionList::new();
    for partition in 0..6 {
        offsets.add_partition_offset(&kafka.topics.rewards, partition, KafkaOffset::Offset(offset)).unwrap();
    }
    // A member that was dropped leaves a moment later, and until then the group takes commits of members only.
    let began = Instant::now();
    while let Err(error) = member.commit(&offsets, CommitMode::Sync) {
        assert!(began.elapsed() < PATIENCE, "{error}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn commits_of_the_log_before_skip_nothing_of_one_that_was_made_anew() {
    let (kafka, marks) = (settings(&shared()), marks());
    let open = || KafkaEvents::open(&kafka, DEPLOYMENT, EventTopic::Rewards, marks.clone()).unwrap();
    let source = open();
    publish_three(&kafka).await;
    publish_three(&kafka).await;
    assert_eq!(read_to(&source, 6).await, (1..=6).collect());
    drop(source);
    remove(&kafka.topics.rewards).await;
    publish_three(&kafka).await;
    commit_of_the_log_before(&kafka, 2);
    let source = open();
    assert_eq!(read_to(&source, 3).await, (1..=3).collect());
    drop(source);
    publish_three(&kafka).await;
    publish_three(&kafka).await;
    commit_of_the_log_before(&kafka, 6);
    let read = read_to(&open(), 9).await;
    assert!(read.is_superset(&(4..=9).collect()), "{read:?}");
}

/// An event of that topic, of a user's own.
fn event(topic: EventTopic, user: u64, receipt: Receipt) -> Event {
    Event { topic, cloud_event: claim(user, 1).event(None, ContentTexts::NONE, &Source::of(DEPLOYMENT)), receipt }
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn each_topic_has_its_own_events_and_is_made_with_the_first() {
    let kafka = settings(&shared());
    let bus = open(&kafka);
    let [rewards, positions] = EventTopic::ALL.map(|topic| Arc::new(source_of(&kafka, topic)));
    assert!(positions.ends().await.unwrap().is_empty(), "there is no topic yet");
    let (receipts, mut reports) = unbounded_channel();
    let receipt = |number| Receipt::new(number, receipts.clone());
    bus.publish(vec![event(EventTopic::Rewards, 1, receipt(1)), event(EventTopic::Positions, 2, receipt(2))]);
    for _ in 0..2 {
        assert_eq!(reports.recv().await.unwrap().delivery, Delivery::Published);
    }
    for (source, user) in [(&rewards, 1), (&positions, 2)] {
        let read = read(source).await;
        assert!(source.has(&read.part));
        let [(_, event)] = &read.events[..] else { panic!("{read:?}") };
        assert!(event.contains(&format!(r#""subject":"{user}""#)), "{event}");
    }
    is_made(&kafka.topics.positions, &[("retention.ms", "86400000")]).await;
    let archive = Archives::of(vec![rewards.clone(), positions.clone()]);
    let ends = ends(&archive).await;
    assert_eq!((ends.len(), ends.values().sum::<u64>()), (12, 2), "six partitions of each, and two events");
    for (part, end) in ends {
        let read = archive.read(part, 0, 10).await.unwrap();
        assert_eq!((read.events.len() as u64, read.is_end), (end, true));
    }
    let strange = archive.read(Part::new("other/0"), 0, 1).await.unwrap_err();
    assert_eq!(strange.0, "there is no part other/0");
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn events_from_before_a_time_are_told_from_later_ones() {
    let kafka = settings(&shared());
    let (bus, source) = (open(&kafka), source(&kafka));
    let mut after = Vec::new();
    for oid in 1..=3 {
        publish(&bus, [claim(1, oid)]).await.unwrap();
        sleep(Duration::from_millis(20)).await;
        after.push(clock::wall());
        sleep(Duration::from_millis(20)).await;
    }
    let ends = ends(&source).await;
    let count = async |time: u64| {
        let before = source.before(time).await.unwrap();
        assert!(before.keys().eq(ends.keys()), "{before:?} {ends:?}");
        before.values().sum::<u64>()
    };
    assert_eq!([count(1).await, count(after[0]).await, count(after[1]).await, count(after[2]).await], [0, 1, 2, 3]);
    assert_eq!(source.before(after[2]).await.unwrap(), ends);
}

/// A request of the consumer itself waits behind its fetch, which waits for events: half a second for each partition.
#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn events_are_read_at_once_while_what_is_left_is_counted() {
    let kafka = settings(&shared());
    let (bus, source) = (open(&kafka), source(&kafka));
    let (came, mut arrivals) = unbounded_channel();
    let reading = tokio::spawn(async move { while came.send(read(&source).await.events.len()).is_ok() {} });
    let mut late = Vec::new();
    for oid in 1..=20 {
        let began = Instant::now();
        publish(&bus, [claim(1, oid)]).await.unwrap();
        assert_eq!(arrivals.recv().await, Some(1));
        late.extend((oid > 1 && began.elapsed() > Duration::from_secs(1)).then(|| began.elapsed()));
        sleep(Duration::from_millis(600)).await;
    }
    reading.abort();
    assert!(late.len() < 2, "of 19 events, these took long: {late:?}");
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn a_source_without_events_says_whether_a_broker_answers() {
    let mut broker = Broker::start();
    let kafka = settings(&broker.address());
    let (bus, source) = (open(&kafka), source(&kafka));
    publish(&bus, [claim(1, 1)]).await.unwrap();
    let first = read(&source).await;
    assert_eq!(first.events.len(), 1);
    commit(&source, first).await;
    until_next("it waits for events", &source, |is_there| is_there).await;
    assert_eq!(source.lag(), 0);
    broker.kill();
    until_next("it says that no broker answers", &source, |is_there| !is_there).await;
    broker.start_again();
    until_next("it says that one is back", &source, |is_there| is_there).await;
    publish(&bus, [claim(1, 2)]).await.unwrap();
    // The first may come once more: the broker may have been killed before it had the commit.
    while !read(&source).await.events.iter().any(|(_, event)| event.contains(r#""oid":"2""#)) {}
    // Without a broker from the start.
    broker.kill();
    let source = self::source(&kafka);
    until_next("it says that none has ever answered", &source, |is_there| !is_there).await;
}
