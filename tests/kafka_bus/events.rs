//! The source of events for consumers inside Heartline.

use std::time::Instant;

use heartline::storage::event_bus::kafka::KafkaEvents;
use heartline::storage::event_bus::source::{EventSource, PartEvents};
use heartline::storage::kafka::config::KafkaConfig;

use crate::broker::Broker;
use crate::publishing::{DEPLOYMENT, publish};
use crate::{PATIENCE, claim, open, settings};

/// Reads on until something was read.
async fn read(source: &KafkaEvents) -> PartEvents {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Ok(Some(read)) = source.next().await {
            return read;
        }
    }
    panic!("nothing is read");
}

async fn until_next(what: &str, source: &KafkaEvents, holds: impl Fn(bool) -> bool) {
    let began = Instant::now();
    while !holds(source.next().await.is_ok()) {
        assert!(began.elapsed() < PATIENCE, "{what}");
    }
}

async fn commit(source: &KafkaEvents, read: PartEvents) {
    source.commit(read.part, read.to).await.unwrap();
}

fn source(kafka: &KafkaConfig) -> KafkaEvents {
    KafkaEvents::open(kafka, DEPLOYMENT).unwrap()
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
    let second = read(&source).await;
    assert!(second.events[0].1.contains(r#""oid":"2""#), "{second:?}");
    // Without a broker from the start.
    broker.kill();
    let source = self::source(&kafka);
    until_next("it says that none has ever answered", &source, |is_there| !is_there).await;
}
