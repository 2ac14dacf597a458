//! A broker that is killed or stopped in the middle of what is published.

use std::thread;
use std::time::{Duration, Instant};

use heartline::model::rewards::claim::Claim;
use heartline::storage::event_bus::EventBus;
use heartline::storage::event_bus::kafka::KafkaBus;
use heartline::storage::event_bus::kafka::config::KafkaConfig;

use crate::broker::Broker;
use crate::bus::has_all_in_order;
use crate::reader::read;
use crate::{claim, open, settings};

const EVENTS: u64 = 20_000;
const BATCH: usize = 500;

/// Publishes all, each batch until it is published, as the relay does; returns how often it failed.
async fn publish_all(bus: &KafkaBus, pace: Duration) -> usize {
    let mut failed = 0;
    let claims: Vec<Claim> = (0..EVENTS).map(|number| claim(number % 100, number)).collect();
    for batch in claims.chunks(BATCH) {
        while let Err(error) = bus.publish(batch).await {
            println!("{error}");
            failed += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        tokio::time::sleep(pace).await;
    }
    failed
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
    let bus = open(&kafka);
    let faults = thread::spawn(move || {
        for pause_ms in [700, 400, 900] {
            thread::sleep(Duration::from_millis(pause_ms));
            broker.kill();
            thread::sleep(Duration::from_millis(500));
            broker.start_again();
        }
        broker
    });
    publish_all(&bus, Duration::from_millis(100)).await;
    let _broker = faults.join().unwrap();
    check(&kafka);
}

/// It answers nothing for longer than a publication may take, and then all that was sent to it meanwhile.
#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn every_event_is_there_and_in_order_after_a_stop() {
    let broker = Broker::start();
    let mut kafka = settings(&broker.address());
    kafka.delivery_timeout = Duration::from_secs(2);
    let bus = open(&kafka);
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
    let failed = publish_all(&bus, Duration::from_millis(50)).await;
    let _broker = faults.join().unwrap();
    println!("{failed} publications failed, {:?} in all", began.elapsed());
    check(&kafka);
    assert!(failed > 0, "nothing was published while the broker stood still");
}
