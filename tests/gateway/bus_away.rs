//! A gateway whose event bus is a Kafka that is not there: everything but events goes on.

use std::collections::HashSet;

use crate::support::{TestGateway, beat, per_user, post_beats, rules, run};

/// Nothing listens there.
const NO_BROKER: &str = "127.0.0.1:9";
const OUTBOX: u64 = 20;
const USERS: u64 = 50;

/// Alone, so that it knows how full the outbox is as soon as it starts: one of several has to look for what others
/// left.
fn gateway() -> TestGateway {
    TestGateway::embedded(&[
        ("rewards.rules", &rules(&[per_user("first-of-day", "0s")])),
        ("events.event_bus", "kafka"),
        ("kafka.brokers", NO_BROKER),
        ("kafka.topics.rewards", "rewards-of-a-test"),
        ("kafka.delivery_timeout", "1s"),
        ("rewards.outbox", "20"),
    ])
}

/// One beat of each user, all of them acked: who has the flag then.
async fn play(gateway: &TestGateway, users: u64) -> u64 {
    let (_, now) = gateway.today_and_now().await;
    let mut flags = 0;
    for mid in 1..=users {
        let answer = post_beats(&gateway.http(mid), None, [beat(100, now)]).await;
        flags += u64::from(answer["flag"].is_string());
    }
    flags
}

async fn degraded(gateway: &TestGateway) -> Vec<String> {
    let answer = gateway.admin().get("/readyz").await;
    assert_eq!(answer.status, 200, "it stays ready");
    let degraded = answer.json()["degraded"].take();
    degraded.as_array().into_iter().flatten().map(|what| what.as_str().expect("a text").to_owned()).collect()
}

#[tokio::test]
async fn beats_are_acked_and_claims_are_made_until_the_outbox_is_full() {
    let mut gateway = gateway();
    assert_eq!(play(&gateway, USERS).await, OUTBOX);
    assert_eq!(gateway.claims("first-of-day").await, OUTBOX);
    gateway.wait_for_metric("heartline_event_bus_away", |away| away == 1.0).await;
    gateway.wait_for_metric("heartline_event_bus_complaints", |complaints| complaints == 1.0).await;
    assert_eq!(gateway.metric("heartline_outbox_entries").await, OUTBOX as f64);
    assert_eq!(gateway.metric("heartline_outbox_full").await, 1.0);
    assert_eq!(gateway.metric("heartline_events_published_total").await, 0.0);
    let told = degraded(&gateway).await;
    for word in ["events wait in the outbox", "reward claims suspended", "Kafka does not answer"] {
        assert!(told.iter().any(|what| what.contains(word)), "{word} in {told:?}");
    }
    let lines = ["events_suspended", "outbox_full", "kafka_degraded", "Kafka does not answer"];
    // The log is written after what it tells of, and the outbox is looked at each second.
    for line in lines {
        gateway.wait_for_log(line).await;
    }
    let log = gateway.log();
    for event in ["events_suspended", "outbox_full"] {
        assert_eq!(log.matches(event).count(), 1, "{event}, once, in {log}");
    }
    // Why a broker does not answer may become known after it is known that it does not.
    let complaints: Vec<_> = log.lines().filter_map(|line| Some(line.split_once("kafka_degraded")?.1)).collect();
    let different: HashSet<_> = complaints.iter().collect();
    assert_eq!(different.len(), complaints.len(), "the same complaint twice in {log}");
    // What waits is not lost with the process.
    gateway.restart();
    assert_eq!(gateway.metric("heartline_outbox_entries").await, OUTBOX as f64);
    assert_eq!(play(&gateway, USERS).await, OUTBOX, "users with a claim keep the flag, and no other user gets one");
}

#[tokio::test]
async fn requests_for_events_are_answered_with_the_name_of_the_kafka_topic() {
    let gateway = gateway();
    for answer in [gateway.control().get("/v1/events").await, gateway.anonymous_http().get("/demo/events").await] {
        let problem = answer.problem(404, "not_found");
        assert!(problem["detail"].as_str().expect("a detail").contains("topic rewards-of-a-test"), "{problem}");
    }
    let control = gateway.control_address().to_string();
    for arguments in [&["events"][..], &["events", "--follow"]] {
        let output = run(arguments, &[("control.listen", &control)]);
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!((output.status.code(), said.lines().count()), (Some(78), 1), "{said}");
        assert!(said.contains("topic rewards-of-a-test"), "{said}");
    }
}
