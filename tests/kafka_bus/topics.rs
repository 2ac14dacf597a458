//! The topic of events: created, checked, and reported if it is wrong.

use std::time::{Duration, Instant};

use heartline::model::secret::Secret;
use heartline::storage::config::kafka::Security;
use heartline::storage::event_bus::EventBus;
use heartline::storage::history_bus::HistoryBus;
use heartline::storage_kafka::event_bus::KafkaBus;
use heartline::storage_kafka::history_bus::KafkaHistory;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;

use crate::kafka_bus::broker::{shared, with_login};
use crate::kafka_bus::publishing::publish;
use crate::kafka_bus::{PATIENCE, claim, open, settings};

/// A bus, whatever it carries.
pub trait Complaining {
    fn complaints(&self) -> Vec<String>;
}

impl Complaining for KafkaBus {
    fn complaints(&self) -> Vec<String> {
        EventBus::complaints(self)
    }
}

impl Complaining for KafkaHistory {
    fn complaints(&self) -> Vec<String> {
        HistoryBus::complaints(self)
    }
}

fn admin() -> AdminClient<DefaultClientContext> {
    ClientConfig::new().set("bootstrap.servers", shared()).create().unwrap()
}

pub async fn make(topic: &str, settings: &[(&str, &str)]) {
    let new = NewTopic::new(topic, 2, TopicReplication::Fixed(1));
    let new = settings.iter().fold(new, |new, (name, value)| new.set(name, value));
    admin().create_topics([&new], &AdminOptions::new()).await.unwrap()[0].as_ref().unwrap();
}

pub async fn until(bus: &impl Complaining, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let complaints = bus.complaints();
        if wanted(&complaints) {
            return complaints;
        }
        assert!(Instant::now() < deadline, "{complaints:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Until no broker knows it any more.
pub async fn remove(topic: &str) {
    let admin = admin();
    admin.delete_topics(&[topic], &AdminOptions::new()).await.unwrap()[0].as_ref().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while !admin.inner().fetch_metadata(Some(topic), PATIENCE).unwrap().topics()[0].partitions().is_empty() {
        assert!(Instant::now() < deadline, "it is still there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The topic has six partitions, and these settings.
pub async fn is_made(topic: &str, settings: &[(&str, &str)]) {
    let admin = admin();
    let metadata = admin.inner().fetch_metadata(Some(topic), PATIENCE).unwrap();
    assert_eq!(metadata.topics()[0].partitions().len(), 6);
    let topic = ResourceSpecifier::Topic(topic);
    let described = admin.describe_configs([&topic], &AdminOptions::new()).await.unwrap().remove(0).unwrap();
    for (name, value) in settings {
        assert_eq!(described.get(name).unwrap().value.as_deref(), Some(*value), "{name}");
    }
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn a_missing_topic_is_created_with_the_configured_settings() {
    let kafka = settings(&shared());
    let bus = open(&kafka);
    publish(&bus, [claim(1, 1)]).await.unwrap();
    let settings = [("min.insync.replicas", "1"), ("retention.ms", "259200000"), ("cleanup.policy", "delete")];
    is_made(&kafka.topics.rewards, &settings).await;
    assert_eq!(EventBus::complaints(&bus), [""; 0]);
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn a_missing_topic_that_may_not_be_created_is_reported_until_it_exists() {
    let mut kafka = settings(&shared());
    (kafka.create_topic, kafka.delivery_timeout) = (false, Duration::from_secs(2));
    let bus = open(&kafka);
    let complaints = until(&bus, |complaints| !complaints.is_empty()).await;
    assert!(
        complaints[0].contains(&kafka.topics.rewards) && complaints[0].contains("kafka.create_topic"),
        "{complaints:?}"
    );
    publish(&bus, [claim(1, 1)]).await.unwrap_err();
    make(&kafka.topics.rewards, &[]).await;
    while publish(&bus, [claim(1, 1)]).await.is_err() {}
    until(&bus, <[String]>::is_empty).await;
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn a_topic_that_may_lose_events_is_reported_and_used() {
    let mut kafka = settings(&shared());
    (kafka.replication, kafka.min_in_sync) = (2, 2);
    make(&kafka.topics.rewards, &[("unclean.leader.election.enable", "true"), ("cleanup.policy", "compact")]).await;
    let bus = open(&kafka);
    publish(&bus, [claim(1, 1)]).await.unwrap();
    let complaints = until(&bus, |complaints| complaints.len() == 5).await;
    for word in ["kafka.min_in_sync = 2", "kafka.replication = 2", "min.insync.replicas is 1", "unclean", "compact"] {
        assert!(complaints.iter().any(|complaint| complaint.contains(word)), "{word} in {complaints:?}");
    }
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn more_copies_than_brokers_are_reported() {
    let mut kafka = settings(&shared());
    kafka.replication = 3;
    let complaints = until(&open(&kafka), |complaints| !complaints.is_empty()).await;
    assert!(complaints[0].contains("kafka.replication = 3 needs as many brokers"), "{complaints:?}");
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn an_unreachable_broker_is_reported() {
    let mut kafka = settings("127.0.0.1:9");
    kafka.delivery_timeout = Duration::from_secs(1);
    let bus = open(&kafka);
    let error = publish(&bus, [claim(1, 1)]).await.unwrap_err();
    assert!(error.contains("127.0.0.1:9"), "{error}");
    let complaints = until(&bus, |complaints| !complaints.is_empty()).await;
    assert!(complaints[0].contains("Kafka does not answer"), "{complaints:?}");
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn a_wrong_password_is_reported_as_one_and_the_right_one_serves() {
    for (password, is_right) in [("right", true), ("wrong", false)] {
        let mut kafka = settings(&with_login());
        kafka.delivery_timeout = Duration::from_secs(if is_right { 30 } else { 1 });
        (kafka.security, kafka.sasl_user) = (Security::SaslPlaintext, "heartline".to_owned());
        kafka.sasl_password = Secret::new(password.to_owned());
        let bus = open(&kafka);
        let published = publish(&bus, [claim(1, 1)]).await;
        assert_eq!(published.is_ok(), is_right, "{published:?}");
        if !is_right {
            let complaints = until(&bus, |complaints| !complaints.is_empty()).await;
            assert!(complaints[0].contains("Kafka refuses the login"), "{complaints:?}");
            assert!(complaints[0].contains(&kafka.topics.rewards), "{complaints:?}");
        }
    }
}
