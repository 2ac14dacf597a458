//! Refusals that a real broker gives rarely: by a mock of the client library, which needs no Kafka.

use std::time::Duration;

use heartline::model::rewards::claim::Claim;
use heartline::storage::event_bus::EventBus;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

use crate::bus::has_all_in_order;
use crate::reader::read;
use crate::{claim, open, settings};

const EVENTS: u64 = 2_000;

/// Publishes all, some of which are refused with these errors; returns how many publications failed.
async fn publish(refusals: &[RDKafkaRespErr]) -> usize {
    let cluster = MockCluster::<DefaultProducerContext>::new(3).unwrap();
    let mut kafka = settings(&cluster.bootstrap_servers());
    // Several requests for each partition.
    kafka.linger = Duration::ZERO;
    cluster.create_topic(&kafka.topic, 6, 3).unwrap();
    let bus = open(&kafka);
    let claims: Vec<Claim> = (0..EVENTS).map(|number| claim(number % 100, number)).collect();
    let mut failed = 0;
    for batch in claims.chunks(500) {
        cluster.request_errors(RDKafkaApiKey::Produce, refusals);
        while let Err(error) = bus.publish(batch).await {
            println!("{error}");
            failed += 1;
            assert!(failed < 20, "{error}");
        }
    }
    let all = read(&kafka.brokers[0], &kafka.topic);
    has_all_in_order(&all, EVENTS);
    failed
}

#[tokio::test]
async fn what_is_tried_again_by_the_library_is_no_failure() {
    use RDKafkaRespErr::*;
    let refusals = [
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
        RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ];
    assert_eq!(publish(&refusals).await, 0);
}

#[tokio::test]
async fn what_is_refused_for_good_fails_and_the_order_holds_when_it_is_published_again() {
    use RDKafkaRespErr::*;
    for refusal in [RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER] {
        let failed = publish(&[refusal]).await;
        assert!(failed > 0, "{refusal:?} is no failure");
    }
}
