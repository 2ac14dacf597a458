//! Three brokers, one copy of each event: with one broker dead, some partitions have no leader.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};

use crate::kafka_bus::broker::Broker;
use crate::kafka_bus::bus::{USERS, has_all_in_order};
use crate::kafka_bus::reader::read;
use crate::kafka_bus::relayed::Relayed;
use crate::kafka_bus::{PATIENCE, claim, settings};

const DELIVERY_TIMEOUT: Duration = Duration::from_secs(2);
/// For so long the broker stays dead, several times longer than an event may take.
const ROUNDS: u64 = 8;
const ROUND: Duration = Duration::from_secs(1);

/// The partitions that this broker leads.
fn led_by(broker: i32, bootstrap: &str, topic: &str) -> BTreeSet<i32> {
    let client: BaseConsumer = ClientConfig::new().set("bootstrap.servers", bootstrap).create().unwrap();
    let metadata = client.fetch_metadata(Some(topic), PATIENCE).unwrap();
    let partitions = metadata.topics()[0].partitions().iter();
    partitions.filter(|partition| partition.leader() == broker).map(|partition| partition.id()).collect()
}

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn without_the_leader_of_some_partitions_the_events_of_all_others_go_on() {
    let mut brokers = Broker::cluster::<3>();
    let mut kafka = settings(&brokers[0].address());
    kafka.brokers = brokers.iter().map(Broker::address).collect();
    kafka.delivery_timeout = DELIVERY_TIMEOUT;
    let relayed = Relayed::start(&kafka);
    relayed.claim((0..USERS).map(|user| claim(user, user)));
    relayed.drained().await;
    let partition: BTreeMap<u64, i32> =
        read(&kafka.brokers[0], &kafka.topics.rewards).iter().map(|event| (event.number(), event.partition)).collect();
    let led = led_by(3, &kafka.brokers[0], &kafka.topics.rewards);
    let wait: BTreeSet<u64> = (0..USERS).filter(|user| led.contains(&partition[user])).collect();
    assert!(wait.len() > 5 && wait.len() < USERS as usize / 2, "{led:?} {wait:?}");

    // On a busy machine the first round is refused, or sent twice, until each broker knows the new topic.
    let refused = relayed.failures();
    brokers[2].kill();
    let killed = Instant::now();
    let mut slowest = Duration::ZERO;
    for round in 1..=ROUNDS {
        let began = Instant::now();
        relayed.claim((0..USERS).map(|user| claim(user, round * USERS + user)));
        // The broker comes back when all others were published: they do not wait for it.
        relayed.until(|relayed| relayed.waiting().len() == round as usize * wait.len()).await;
        slowest = slowest.max(began.elapsed());
        assert!(relayed.waiting().iter().all(|claim| wait.contains(&claim.key.user.0)));
        tokio::time::sleep(ROUND.saturating_sub(began.elapsed())).await;
    }
    let (blocked, again) = (relayed.metric("event_bus_blocked"), relayed.failures() - refused);
    println!("{} of {USERS} users wait; the slowest of the others {slowest:?}; {again} sent again", wait.len());
    println!("{:?}", relayed.degraded());
    assert_eq!((blocked, relayed.metric("event_bus_away")), (1.0, 0.0));
    // Each user's first, whenever it is given up.
    let times = killed.elapsed().as_secs() / DELIVERY_TIMEOUT.as_secs() + 1;
    assert!(again <= wait.len() as u64 * times, "{again} sent again in {:?}", killed.elapsed());
    // The others elect a controller first if it was that one, and then wait for the end of its session.
    relayed.until(|relayed| relayed.degraded().iter().any(|what| what.contains("have no leader"))).await;

    brokers[2].start_again();
    let back = Instant::now();
    relayed.drained().await;
    println!("drained {:?} after the broker was back", back.elapsed());
    let all = read(&kafka.brokers[0], &kafka.topics.rewards);
    has_all_in_order(&all, (ROUNDS + 1) * USERS);
    // One that was on its way when the broker died may be there twice.
    let later = || all.iter().map(|event| event.number()).filter(|number| *number >= USERS);
    let others = later().filter(|number| !wait.contains(&(number % USERS))).count() as u64;
    assert_eq!(others, ROUNDS * (USERS - wait.len() as u64), "those of the others come once");
    let messages = later().count() as u64;
    assert!(messages <= ROUNDS * USERS + wait.len() as u64, "{messages} messages");
    relayed.until(|relayed| relayed.degraded().is_empty()).await;
}
