//! Reads of packs by readers of a group: each pack once, and again after a lost reader.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use heartline::model::shard::Region;
use heartline::storage::config::kafka::KafkaConfig;
use heartline::storage::delivery::Delivery;
use heartline::storage::history_bus::source::{MessageRef, PackSource, RawPack};
use heartline::storage_kafka::history_bus::KafkaHistory;
use heartline::storage_kafka::history_bus::source::KafkaSource;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::kafka_bus::broker::{Broker, shared};
use crate::kafka_bus::history::{deliveries, open, publish};
use crate::kafka_bus::topics::is_made;
use crate::kafka_bus::{PATIENCE, settings};

const GROUP: &str = "heartline-history-test";
const BYTES_MAX: usize = 1 << 20;
/// The broker and the topic of a reader in a process of its own.
const READER: &str = "HEARTLINE_TEST_READER";
const LEFT_FROM: u64 = 1_000;
const IDLE: &str = "idle";

fn source(kafka: &KafkaConfig) -> KafkaSource {
    KafkaSource::open(kafka, GROUP, BYTES_MAX).unwrap()
}

/// Each number is a message.
async fn publish_numbers(bus: &KafkaHistory, numbers: Range<u64>) {
    let messages = numbers.map(|number| (Region((number % 100) as u16), number.to_string().into_bytes()));
    let all = deliveries(publish(bus, messages)).await;
    assert!(all.iter().all(|delivery| *delivery == Delivery::Published), "{all:?}");
}

fn number(pack: &RawPack) -> u64 {
    let number: u64 = String::from_utf8(pack.bytes.clone()).unwrap().trim_start().parse().unwrap();
    assert_eq!(pack.key, (number % 100).to_string().into_bytes());
    number
}

async fn next(source: &KafkaSource) -> Vec<RawPack> {
    timeout(PATIENCE, source.next(BYTES_MAX)).await.expect("messages in time")
}

/// So many messages.
async fn read(source: &KafkaSource, messages: usize) -> Vec<RawPack> {
    let mut all = Vec::new();
    while all.len() < messages {
        all.extend(next(source).await);
    }
    all
}

fn message_refs(packs: &[RawPack]) -> Vec<MessageRef> {
    packs.iter().map(|pack| pack.message_ref).collect()
}

fn numbers(packs: &[RawPack]) -> Vec<u64> {
    let mut numbers: Vec<u64> = packs.iter().map(number).collect();
    numbers.sort_unstable();
    numbers
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn close(source: KafkaSource) {
    tokio::task::spawn_blocking(move || source.close()).await.unwrap();
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn uncommitted_messages_are_read_again() {
    let kafka = settings(&shared());
    // The topic is not there yet.
    let first = source(&kafka);
    publish_numbers(&open(&kafka), 0..200).await;
    let packs = read(&first, 200).await;
    assert_eq!(numbers(&packs), (0..200).collect::<Vec<_>>(), "each once");
    for partition in 0..6 {
        let of = packs.iter().filter(|pack| pack.message_ref.partition == partition);
        let offsets: Vec<i64> = of.map(|pack| pack.message_ref.offset).collect();
        assert_eq!(offsets, (0..offsets.len() as i64).collect::<Vec<_>>(), "in its order");
    }
    // Of each partition all but the eleventh: those after it wait for it.
    let most: Vec<MessageRef> =
        message_refs(&packs).into_iter().filter(|message_ref| message_ref.offset != 10).collect();
    first.commit(&most);
    let left: Vec<RawPack> = packs.into_iter().filter(|pack| pack.message_ref.offset >= 10).collect();
    until("what is left counts", || first.lag().values().sum::<u64>() == left.len() as u64).await;
    close(first).await;

    let second = source(&kafka);
    let again = read(&second, left.len()).await;
    assert_eq!(numbers(&again), numbers(&left));
    second.commit(&message_refs(&again));
    until("nothing is left", || second.lag().len() == 6 && second.lag().values().all(|left| *left == 0)).await;
    close(second).await;

    let third = source(&kafka);
    publish_numbers(&open(&kafka), 200..201).await;
    assert_eq!(numbers(&next(&third).await), [200], "all others are committed");
}

/// A request of the member itself waits behind its fetch, which waits for messages: half a second for each partition.
#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn messages_are_read_at_once_while_what_is_left_is_counted() {
    let kafka = settings(&shared());
    let (bus, source) = (open(&kafka), source(&kafka));
    let mut late = Vec::new();
    for number in 0..20 {
        let began = Instant::now();
        publish_numbers(&bus, number..number + 1).await;
        assert_eq!(numbers(&next(&source).await), [number]);
        late.extend((number > 0 && began.elapsed() > Duration::from_secs(1)).then(|| began.elapsed()));
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    close(source).await;
    assert!(late.len() < 2, "of 19 messages, these took long: {late:?}");
}

/// Half of what it may hold is not committed for long.
#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn a_source_reads_each_message_once_and_no_more_than_it_may_hold() {
    const MESSAGE_BYTES: usize = 10_000;
    let kafka = settings(&shared());
    let bus = open(&kafka);
    let messages = (0..500_u64).map(|number| {
        let text = format!("{number:>MESSAGE_BYTES$}");
        (Region((number % 100) as u16), text.into_bytes())
    });
    assert!(deliveries(publish(&bus, messages)).await.iter().all(|delivery| *delivery == Delivery::Published));
    let source = KafkaSource::open(&kafka, GROUP, 20 * MESSAGE_BYTES).unwrap();
    let (mut all, mut most) = (Vec::new(), 0);
    while all.len() < 500 {
        // All that can be had without committing.
        let mut held = next(&source).await;
        while held.len() < 20 && all.len() + held.len() < 500 {
            held.extend(next(&source).await);
        }
        assert!(timeout(Duration::from_millis(300), source.next(1)).await.is_err(), "it is full");
        most = most.max(held.len());
        source.commit(&message_refs(&held));
        all.extend(held.iter().map(number));
    }
    assert_eq!(most, 20);
    all.sort_unstable();
    assert_eq!(all, (0..500).collect::<Vec<_>>());
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn a_source_goes_on_when_its_broker_is_back() {
    let mut broker = Broker::start();
    let kafka = settings(&broker.address());
    let (bus, source) = (open(&kafka), source(&kafka));
    publish_numbers(&bus, 0..100).await;
    let before = read(&source, 100).await;
    source.commit(&message_refs(&before));
    until("all is committed", || source.lag().len() == 6 && source.lag().values().all(|left| *left == 0)).await;
    broker.kill();
    until("it complains", || source.complaints().iter().any(|what| what.contains("Kafka does not answer"))).await;
    broker.start_again();
    publish_numbers(&bus, 100..200).await;
    assert_eq!(numbers(&read(&source, 100).await), (100..200).collect::<Vec<_>>());
    until("it complains no more", || source.complaints().is_empty()).await;
    // And it ends without one.
    broker.kill();
    let began = Instant::now();
    close(source).await;
    println!("ended {:?} after its broker", began.elapsed());
}

/// Reads numbers on and on, and says which it has written, and when all is committed. From [`LEFT_FROM`] on it leaves
/// one in five, as if it were still at it.
#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn reader_process() {
    // It is a part of another test, which sets this.
    let Ok(of) = std::env::var(READER) else { return };
    let (broker, topic) = of.split_once(' ').unwrap();
    let mut kafka = settings(broker);
    topic.clone_into(&mut kafka.topics.history);
    let source = source(&kafka);
    loop {
        let Ok(packs) = timeout(Duration::from_millis(200), source.next(BYTES_MAX)).await else {
            let lag = source.lag();
            println!("\n{}", if lag.len() == 3 && lag.values().all(|left| *left == 0) { IDLE } else { "busy" });
            continue;
        };
        let is_left = |pack: &RawPack| number(pack) >= LEFT_FROM && number(pack).is_multiple_of(5);
        let written: Vec<RawPack> = packs.into_iter().filter(|pack| !is_left(pack)).collect();
        written.iter().for_each(|pack| println!("\nwritten {}", number(pack)));
        source.commit(&message_refs(&written));
    }
}

/// What a reader in a process of its own has said.
#[derive(Default)]
struct Told {
    written: BTreeSet<u64>,
    /// All that it has written is committed.
    is_idle: bool,
}

fn start_reader(kafka: &KafkaConfig) -> (Child, Arc<Mutex<Told>>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kafka_bus::sources::reader_process", "--include-ignored", "--nocapture"]);
    command.env(READER, format!("{} {}", kafka.brokers[0], kafka.topics.history));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let told = Arc::<Mutex<Told>>::default();
    let tells = told.clone();
    thread::spawn(move || {
        for line in lines.map_while(Result::ok).filter(|line| !line.is_empty()) {
            let mut told = tells.lock().unwrap();
            told.written.extend(line.strip_prefix("written ").map(|number| number.parse::<u64>().unwrap()));
            told.is_idle = line == IDLE;
        }
    });
    (child, told)
}

/// Writes all that it reads; how often each number.
fn write_all(source: &Arc<KafkaSource>) -> (JoinHandle<()>, Arc<Mutex<BTreeMap<u64, u64>>>) {
    let written = Arc::<Mutex<BTreeMap<u64, u64>>>::default();
    let (writes, source) = (written.clone(), source.clone());
    let writing = tokio::spawn(async move {
        loop {
            let packs = source.next(BYTES_MAX).await;
            for pack in &packs {
                *writes.lock().unwrap().entry(number(pack)).or_default() += 1;
            }
            source.commit(&message_refs(&packs));
        }
    });
    (writing, written)
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn two_readers_share_partitions_and_one_takes_over_what_the_other_leaves() {
    let kafka = settings(&shared());
    let (bus, source) = (open(&kafka), Arc::new(source(&kafka)));
    publish_numbers(&bus, 0..100).await;
    let (writing, here) = write_all(&source);
    until("all is written here", || here.lock().unwrap().len() == 100 && source.lag().len() == 6).await;

    let (mut child, told) = start_reader(&kafka);
    until("the other has half", || source.lag().len() == 3).await;
    publish_numbers(&bus, 100..LEFT_FROM).await;
    let written = || here.lock().unwrap().len() + told.lock().unwrap().written.len();
    until("all is written", || written() as u64 == LEFT_FROM).await;
    until("the other has committed all of its own", || told.lock().unwrap().is_idle).await;
    let committed = told.lock().unwrap().written.clone();

    publish_numbers(&bus, LEFT_FROM..2_000).await;
    until("the other is in the middle", || told.lock().unwrap().written.len() > committed.len() + 50).await;
    child.kill().unwrap();
    child.wait().unwrap();
    publish_numbers(&bus, 2_000..2_100).await;
    let is_written =
        |number: u64| here.lock().unwrap().contains_key(&number) || told.lock().unwrap().written.contains(&number);
    until("each is written by one of them", || (0..2_100).all(is_written)).await;
    until("all partitions are here", || source.lag().len() == 6).await;
    until("nothing is left", || source.lag().values().all(|left| *left == 0)).await;
    writing.abort();
    let (here, there) = (here.lock().unwrap(), &told.lock().unwrap().written);
    println!("{} written here, {} there, {} of them committed", here.len(), there.len(), committed.len());
    assert!(committed.len() > 100 && committed.iter().all(|number| !here.contains_key(number)));
    assert!(here.values().all(|times| *times == 1), "a reader that keeps its partitions reads nothing again");
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn a_source_creates_the_history_topic_with_its_settings() {
    let kafka = settings(&shared());
    let source = source(&kafka);
    publish_numbers(&open(&kafka), 0..1).await;
    read(&source, 1).await;
    is_made(&kafka.topics.history, &[("retention.ms", "172800000"), ("max.message.bytes", "2097152")]).await;
    assert_eq!(source.complaints(), [""; 0]);
}
