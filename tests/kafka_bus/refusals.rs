//! Refusals that a real broker gives rarely: by a mock of the client library, which needs no Kafka.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use heartline::storage::config::kafka::KafkaConfig;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

use crate::kafka_bus::bus::has_all_in_order;
use crate::kafka_bus::reader::read;
use crate::kafka_bus::relayed::Relayed;
use crate::kafka_bus::{claim, settings};

const EVENTS: u64 = 2_000;
const PARTITIONS: i32 = 6;

type Cluster = MockCluster<'static, DefaultProducerContext>;

/// Three brokers, and a topic.
fn cluster() -> (Cluster, KafkaConfig) {
    let cluster = Cluster::new(3).unwrap();
    let mut kafka = settings(&cluster.bootstrap_servers());
    // Several requests for each partition.
    kafka.linger = Duration::ZERO;
    cluster.create_topic(&kafka.topics.rewards, PARTITIONS, 3).unwrap();
    (cluster, kafka)
}

/// Publishes all, some of which are refused with these errors; returns how many were sent again.
async fn publish(refusals: &[RDKafkaRespErr]) -> u64 {
    let (cluster, kafka) = cluster();
    let relayed = Relayed::start(&kafka);
    for first in (0..EVENTS).step_by(500) {
        cluster.request_errors(RDKafkaApiKey::Produce, refusals);
        relayed.claim((first..first + 500).map(|number| claim(number % 100, number)));
        relayed.drained().await;
    }
    let all = read(&kafka.brokers[0], &kafka.topics.rewards);
    has_all_in_order(&all, EVENTS);
    relayed.failures()
}

#[tokio::test]
async fn errors_that_the_client_library_retries_are_no_failures() {
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
async fn refused_events_are_sent_again_in_order() {
    use RDKafkaRespErr::*;
    assert!(publish(&[RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED]).await > 0);
    publish(&[RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER]).await;
}

/// Those of other partitions go on, and are not sent again. The first of each user that waits is, when it is given up.
#[tokio::test]
async fn events_of_a_partition_without_a_leader_wait_for_it_alone() {
    let (cluster, mut kafka) = cluster();
    let leaderless = 2;
    // Before anything is sent there: the mock falls over a request for such a partition.
    cluster.partition_leader(&kafka.topics.rewards, leaderless, None).unwrap();
    kafka.delivery_timeout = Duration::from_secs(1);
    let relayed = Relayed::start(&kafka);
    for round in 0..10 {
        relayed.claim((0..100).map(|user| claim(user, round * 100 + user)));
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let waiting_users =
        |relayed: &Relayed| relayed.waiting().iter().map(|claim| claim.key.user.0).collect::<BTreeSet<u64>>();
    let only_all_of_some = |relayed: &Relayed| {
        let users = waiting_users(relayed).len();
        (5..50).contains(&users) && relayed.waiting().len() == 10 * users
    };
    relayed.until(|relayed| relayed.metric("event_bus_blocked") == 1.0 && only_all_of_some(relayed)).await;
    // On a busy machine others may have failed, too, until the first connection was there.
    let (users, failed_before, began) = (waiting_users(&relayed), relayed.failures(), Instant::now());
    tokio::time::sleep(3 * kafka.delivery_timeout).await;
    let (again, rounds) = (relayed.failures() - failed_before, began.elapsed().as_secs() + 1);
    assert!(again > 0 && again <= users.len() as u64 * rounds, "{again} sent again in {rounds} s");

    cluster.partition_leader(&kafka.topics.rewards, leaderless, Some(1)).unwrap();
    relayed.drained().await;
    let all = read(&kafka.brokers[0], &kafka.topics.rewards);
    assert_eq!(all.len(), 1_000, "nothing comes twice");
    has_all_in_order(&all, 1_000);
    let there = all.iter().filter(|event| event.partition == leaderless);
    assert_eq!(there.map(|event| event.number() % 100).collect::<BTreeSet<_>>(), users);
}
