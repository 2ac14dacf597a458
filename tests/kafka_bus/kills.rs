//! A broker that is killed or stopped in the middle of what is published.

use std::time::{Duration, Instant};

use heartline::storage::config::kafka::KafkaConfig;
use tokio::task::spawn_blocking;

use crate::kafka_bus::broker::Broker;
use crate::kafka_bus::bus::has_all_in_order;
use crate::kafka_bus::reader::read;
use crate::kafka_bus::relayed::Relayed;
use crate::kafka_bus::{claim, settings};

/// Claimed at least.
const EVENTS: u64 = 20_000;
/// Published before a fault.
const BETWEEN: f64 = 2_000.0;
const BATCH: u64 = 500;
/// No more is claimed while so many wait.
const WAITING_MAX: u64 = 5_000;

/// Claims on, at this pace, while the faults happen. Returns how many were claimed and all published, and how many sent
/// again.
async fn publish_during(kafka: &KafkaConfig, pace: Duration, faults: impl AsyncFnOnce(&Relayed)) -> (u64, u64) {
    let relayed = Relayed::start(kafka);
    let mut claimed = 0;
    {
        let mut faults = std::pin::pin!(faults(&relayed));
        let mut over = false;
        while !over || claimed < EVENTS {
            if relayed.backlog() < WAITING_MAX {
                relayed.claim((claimed..claimed + BATCH).map(|number| claim(number % 100, number)));
                claimed += BATCH;
            }
            match over {
                true => tokio::time::sleep(pace).await,
                false => over = tokio::time::timeout(pace, &mut faults).await.is_ok(),
            }
        }
    }
    relayed.drained().await;
    (claimed, relayed.failures())
}

/// Waits until so many more are published: what comes now hits some that are on their way.
async fn publishes_on(relayed: &Relayed) {
    let enough = published(relayed) + BETWEEN;
    relayed.until(|relayed| published(relayed) >= enough).await;
}

fn published(relayed: &Relayed) -> f64 {
    relayed.metric("events_published_total")
}

fn check(kafka: &KafkaConfig, events: u64) {
    let all = read(&kafka.brokers[0], &kafka.topics.rewards);
    has_all_in_order(&all, events);
    println!("{} messages for {events} events", all.len());
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn every_event_is_there_and_in_order_after_sigkill() {
    let broker = Broker::start();
    let kafka = settings(&broker.address());
    let mut broker = Some(broker);
    let faults = async |relayed: &Relayed| {
        for _ in 0..3 {
            publishes_on(relayed).await;
            let mut killed = broker.take().unwrap();
            killed.kill();
            let back = spawn_blocking(move || {
                killed.start_again();
                killed
            });
            broker = Some(back.await.unwrap());
        }
    };
    let (events, _) = publish_during(&kafka, Duration::from_millis(100), faults).await;
    check(&kafka, events);
}

/// It answers nothing until an event has taken longer than it may, and then all that was sent to it meanwhile.
#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn every_event_is_there_and_in_order_after_a_stop() {
    let broker = Broker::start();
    let mut kafka = settings(&broker.address());
    kafka.delivery_timeout = Duration::from_secs(2);
    let faults = async |relayed: &Relayed| {
        for _ in 0..2 {
            publishes_on(relayed).await;
            let given_up = relayed.failures();
            broker.signal("STOP");
            relayed.until(|relayed| relayed.failures() > given_up).await;
            broker.signal("CONT");
        }
    };
    let began = Instant::now();
    let (events, failed) = publish_during(&kafka, Duration::from_millis(50), faults).await;
    println!("{failed} events sent again, {:?} in all", began.elapsed());
    check(&kafka, events);
}
