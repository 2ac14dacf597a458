//! A broker that is killed or stopped in the middle of what is published.

use std::thread;
use std::time::{Duration, Instant};

use heartline::storage::event_bus::kafka::config::KafkaConfig;

use crate::broker::Broker;
use crate::bus::has_all_in_order;
use crate::reader::read;
use crate::relayed::Relayed;
use crate::{claim, settings};

const EVENTS: u64 = 20_000;
const BATCH: usize = 500;
const PATIENCE: Duration = Duration::from_secs(60);

/// Publishes all, as they are claimed over some time; returns how many were sent again.
async fn publish_all(kafka: &KafkaConfig, pace: Duration) -> u64 {
    let relayed = Relayed::start(kafka);
    let numbers: Vec<u64> = (0..EVENTS).collect();
    for batch in numbers.chunks(BATCH) {
        relayed.claim(batch.iter().map(|number| claim(number % 100, *number)));
        tokio::time::sleep(pace).await;
    }
    relayed.drained(PATIENCE).await;
    relayed.failures()
}

fn check(kafka: &KafkaConfig) {
    let all = read(&kafka.brokers[0], &kafka.topic);
    has_all_in_order(&all, EVENTS);
    println!("{} messages for {EVENTS} events", all.len());
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn every_event_is_there_and_in_order_after_sigkill() {
    let mut broker = Broker::start();
    let kafka = settings(&broker.address());
    let faults = thread::spawn(move || {
        for pause_ms in [700, 400, 900] {
            thread::sleep(Duration::from_millis(pause_ms));
            broker.kill();
            thread::sleep(Duration::from_millis(500));
            broker.start_again();
        }
        broker
    });
    publish_all(&kafka, Duration::from_millis(100)).await;
    let _broker = faults.join().unwrap();
    check(&kafka);
}

/// It answers nothing for longer than an event may take, and then all that was sent to it meanwhile.
#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn every_event_is_there_and_in_order_after_a_stop() {
    let broker = Broker::start();
    let mut kafka = settings(&broker.address());
    kafka.delivery_timeout = Duration::from_secs(2);
    let faults = thread::spawn(move || {
        for pause_ms in [900, 600] {
            thread::sleep(Duration::from_millis(pause_ms));
            broker.signal("STOP");
            thread::sleep(Duration::from_secs(5));
            broker.signal("CONT");
        }
        broker
    });
    let began = Instant::now();
    let failed = publish_all(&kafka, Duration::from_millis(50)).await;
    let _broker = faults.join().unwrap();
    println!("{failed} events sent again, {:?} in all", began.elapsed());
    check(&kafka);
    assert!(failed > 0, "an event whose broker stands still is given up");
}
