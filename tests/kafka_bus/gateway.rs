//! A gateway on the embedded store whose events go to Kafka: with it, without it, and with it again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::kafka_bus::broker::{Broker, shared};
use crate::kafka_bus::reader::read;
use crate::kafka_bus::subscriber::{self, Subscriber};
use crate::kafka_bus::topics::{make, remove};
use crate::kafka_bus::{PATIENCE, settings};
use crate::support::{MID, TestGateway, beat, per_content, per_user, post_beats, until};

const OUTBOX: u64 = 50;
const USERS: u64 = 120;

fn gateway(broker: &str, topic: &str, settings: &[(&str, &str)]) -> TestGateway {
    let kafka = [
        ("events.event_bus", "kafka"),
        ("kafka.brokers", broker),
        ("kafka.topics.rewards", topic),
        ("kafka.replication", "1"),
        ("kafka.min_in_sync", "1"),
        ("kafka.delivery_timeout", "3s"),
    ];
    let rules = [per_user("first-of-day", "0s"), per_content("first-view", "0s")];
    TestGateway::rewarding_with(&rules[..1 + usize::from(settings.is_empty())], &[&kafka, settings].concat())
}

/// One beat of each user; who has the flag then.
async fn play(gateway: &TestGateway, users: impl IntoIterator<Item = u64>) -> BTreeSet<u64> {
    let (_, now) = gateway.today_and_now().await;
    let mut flags = BTreeSet::new();
    for mid in users {
        let answer = post_beats(&gateway.http(mid), None, [beat(100, now)]).await;
        if answer["flag"].is_string() {
            flags.insert(mid);
        }
    }
    flags
}

/// How often each event is there.
fn events(broker: &str, topic: &str) -> BTreeMap<String, u64> {
    let mut events = BTreeMap::new();
    for read in read(broker, topic) {
        *events.entry(read.headers["ce_id"].clone()).or_default() += 1;
    }
    events
}

async fn is_degraded(gateway: &TestGateway) -> bool {
    gateway.admin().get("/readyz").await.json()["degraded"].is_array()
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn each_claim_is_one_event() {
    let kafka = settings(&shared());
    let gateway = gateway(&kafka.brokers[0], &kafka.topics.rewards, &[]);
    let mut client = gateway.connect(MID).await;
    let (today, at) = (client.today(), client.now());
    client.play(None, [beat(100, at), beat(200, at)]).await;
    client.play(None, [beat(100, at + 1), beat(200, at + 1)]).await;
    gateway.wait_for_metric("heartline_events_published_total", |published| published == 3.0).await;
    let expected = [format!("first-of-day:{today}:42"), format!("first-view:{today}:42:1:100")];
    let events = events(&kafka.brokers[0], &kafka.topics.rewards);
    assert_eq!(events.len(), 3, "{events:?}");
    assert!(expected.iter().all(|id| events.get(id) == Some(&1)), "{events:?}");
    assert!(!is_degraded(&gateway).await);
    assert_eq!(gateway.metric("heartline_outbox_entries").await, 0.0);
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn while_kafka_is_away_acks_go_on_and_when_it_is_back_the_outbox_drains_by_itself() {
    let mut broker = Broker::start();
    let address = broker.address();
    let bound = OUTBOX.to_string();
    let gateway = gateway(&address, "rewards", &[("rewards.outbox", &bound)]);
    assert_eq!(play(&gateway, 1..=10).await.len(), 10);
    gateway.wait_for_metric("heartline_events_published_total", |published| published == 10.0).await;

    broker.kill();
    let flags = play(&gateway, 11..=USERS).await;
    assert_eq!(flags.len() as u64, OUTBOX, "claims go on until the outbox is full");
    gateway.wait_for_metric("heartline_event_bus_away", |away| away == 1.0).await;
    assert_eq!(gateway.metric("heartline_outbox_full").await, 1.0);
    assert!(is_degraded(&gateway).await);
    assert_eq!(play(&gateway, 11..=USERS).await, flags, "and no user gains or loses a flag by going on");

    broker.start_again();
    let back = Instant::now();
    gateway.wait_for_metric("heartline_outbox_entries", |entries| entries == 0.0).await;
    println!("drained {:?} after the broker was back", back.elapsed());
    gateway.wait_for_metric("heartline_event_bus_away", |away| away == 0.0).await;
    gateway.wait_for_metric("heartline_event_bus_complaints", |complaints| complaints == 0.0).await;
    until("subscribers are served again, too", async || !is_degraded(&gateway).await).await;
    // The outbox has room for some of them at a time.
    while play(&gateway, 11..=USERS).await.len() as u64 != USERS - 10 {
        assert!(back.elapsed() < PATIENCE, "who had to wait claims with a later beat");
    }
    gateway.wait_for_metric("heartline_outbox_entries", |entries| entries == 0.0).await;
    let events = events(&address, "rewards");
    assert_eq!(events.len() as u64, USERS, "one event for each claim");
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn events_waiting_at_a_kill_are_published_after_the_restart() {
    let mut broker = Broker::start();
    let address = broker.address();
    broker.kill();
    let mut gateway = gateway(&address, "rewards", &[("rewards.outbox", "100")]);
    assert_eq!(play(&gateway, 1..=30).await.len(), 30, "a gateway starts without Kafka");
    gateway.restart();
    broker.start_again();
    gateway.wait_for_metric("heartline_outbox_entries", |entries| entries == 0.0).await;
    assert_eq!(events(&address, "rewards").len(), 30);
}

/// Its log begins anew, and what subscribers have of the old one says nothing about it.
#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn events_that_wait_reach_subscribers_through_a_topic_that_was_made_anew() {
    let kafka = settings(&shared());
    let topic = &kafka.topics.rewards;
    make(topic, &[]).await;
    let never_made = [("kafka.create_topic", "false")];
    let gateway = gateway(&kafka.brokers[0], topic, &[&never_made[..], &subscriber::SETTINGS].concat());
    let subscriber = Subscriber::of(&gateway).await;
    assert_eq!(play(&gateway, 1..=10).await.len(), 10);
    until("the first events arrive", async || subscriber.got().len() == 10).await;
    let before = subscriber.got();

    remove(topic).await;
    assert_eq!(play(&gateway, 11..=30).await.len(), 20);
    gateway.wait_for_metric("heartline_event_bus_away", |away| away == 1.0).await;
    assert_eq!(gateway.metric("heartline_outbox_entries").await, 20.0, "all that was claimed since waits");

    make(topic, &[]).await;
    gateway.wait_for_metric("heartline_outbox_entries", |entries| entries == 0.0).await;
    let published: BTreeSet<String> = events(&kafka.brokers[0], topic).into_keys().collect();
    assert_eq!(published.len(), 20, "each is in the new topic: {published:?}");
    until("the others arrive", async || subscriber.got().len() == 30).await;
    assert_eq!(&subscriber.got() - &before, published);
    // It goes on.
    assert_eq!(play(&gateway, 31..=35).await.len(), 5);
    until("later ones arrive", async || subscriber.got().len() == 35).await;
}
