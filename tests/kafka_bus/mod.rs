//! Events and history in a real Kafka: what the buses promise, and what a gateway does without it.
//!
//! Most of these need a broker and say so: `tests/run kafka` starts one and runs them.

mod broker;
mod bus;
mod events;
mod gateway;
mod history;
mod kills;
mod leaders;
mod quarantine;
mod reader;
mod refusals;
mod relayed;
mod sources;
mod subscriber;
mod topics;

use crate::bus as publishing;

use std::time::Duration;

use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::model::secret::Secret;
use heartline::storage::config::kafka::{KafkaConfig, Security, Topics};
use heartline::storage::event_bus::config::{Backend, Config};
use heartline::storage_kafka::event_bus::KafkaBus;

use crate::kafka_bus::publishing::DEPLOYMENT;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest a test waits for what it was promised. Brokers on a busy machine take their time.
const PATIENCE: Duration = Duration::from_secs(120);

/// For one broker, and a topic of this test's own.
fn settings(broker: &str) -> KafkaConfig {
    let topic = format!("heartline.test.{:x}", rand::random::<u64>());
    KafkaConfig {
        brokers: vec![broker.to_owned()],
        topics: Topics {
            rewards: topic.clone(),
            positions: format!("{topic}.positions"),
            history: format!("{topic}.history"),
            quarantine: format!("{topic}.quarantine"),
        },
        create_topic: true,
        partitions: 6,
        history_retention: 2 * DAY,
        replication: 1,
        min_in_sync: 1,
        linger: Duration::from_millis(5),
        delivery_timeout: Duration::from_secs(30),
        security: Security::Plaintext,
        sasl_user: String::new(),
        sasl_password: Secret::default(),
    }
}

fn open(kafka: &KafkaConfig) -> KafkaBus {
    let deployment = DEPLOYMENT.to_owned();
    let events = Config { event_bus: Backend::Kafka, deployment, retention: 3 * DAY, retention_bytes: 1 << 30 };
    KafkaBus::open(kafka, &events).unwrap()
}

/// The number is in `oid` and in the id, so that each event of a user is another.
fn claim(user: u64, number: u64) -> Claim {
    let content = Content { kind: 1, oid: number };
    let day = "2026-11-20".parse().unwrap();
    Claim {
        key: ClaimKey { rule: "first-view".into(), day, user: UserId(user), content: Some(content) },
        content,
        session: SessionId(7),
        device: "tv".into(),
        watched: 5_000,
        claimed_at: 1_795_150_000_118,
        zone: "UTC".into(),
    }
}
