//! The flag: which connections get it, and when, once all rules of the day are decided for a user.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{MID, NEVER, TestGateway, beat, beats, per_content, per_user, post_beats};

const ENOUGH: Duration = Duration::from_millis(400);

/// A rule that takes some watching.
fn first_of_day() -> String {
    per_user("first-of-day", "300ms")
}

/// A rule that the first beat satisfies.
fn at_once() -> String {
    per_user("at-once", "0s")
}

#[tokio::test]
async fn the_flag_comes_with_the_claim_and_not_before() {
    let gateway = TestGateway::rewarding(&[first_of_day()]);
    let mut client = gateway.connect(MID).await;
    let today = client.today();
    assert_eq!(client.welcome().get("flag"), None);
    let at = client.now();
    assert_eq!(client.play(None, [beat(100, at)]).await.flag(), None);
    client.was_given_nothing().await;
    tokio::time::sleep(ENOUGH).await;
    let acked = client.play(None, [beat(100, at + 400).watched(5_400)]).await;
    assert_eq!(acked.flag(), Some(today.as_str()));
    let id = format!("first-of-day:{today}:42");
    assert_eq!(client.reward().await, json!({"id": id, "rule": "first-of-day", "day": today}));
    let acked = client.play(Some(&today), [beat(100, at + 500).watched(5_500)]).await;
    assert_eq!(acked.flag(), Some(today.as_str()), "and ever after");
    client.was_given_nothing().await;
}

#[tokio::test]
async fn the_welcome_of_a_later_connection_has_the_flag() {
    let gateway = TestGateway::rewarding(&[at_once()]);
    let mut client = gateway.connect(MID).await;
    client.play(None, [beat(100, client.now())]).await;
    let mut later = gateway.connect(MID).await;
    assert_eq!(later.welcome()["flag"], json!(client.today()));
    let acked = later.play(None, [beat(200, later.now())]).await;
    assert_eq!(acked.flag(), Some(client.today().as_str()), "also in acks of beats without it");
    assert_eq!(gateway.connect(43).await.welcome().get("flag"), None, "that of another user has not");
    // What was committed just before it came may still be pushed to it, and that is no reward.
    later.still_serves().await;
    assert!(later.kept("reward").is_empty());
}

#[tokio::test]
async fn the_flag_survives_sigkill_and_a_drain() {
    let mut gateway = TestGateway::rewarding(&[at_once()]);
    let mut client = gateway.connect(MID).await;
    client.play(None, [beat(100, client.now())]).await;
    let today = client.today();
    gateway.restart();
    assert_eq!(gateway.connect(MID).await.welcome()["flag"], json!(today));
    gateway.drain_and_restart().await;
    let mut client = gateway.connect(MID).await;
    assert_eq!(client.welcome()["flag"], json!(today));
    client.play(None, [beat(100, client.now())]).await;
    client.was_given_nothing().await;
    // A history service was not restarted.
    let before = u64::from(gateway.service().is_some());
    assert_eq!(gateway.claims("at-once").await, before, "of this process");
    assert_eq!(gateway.event_ids(1).await.len(), 1);
}

#[tokio::test]
async fn the_reward_goes_to_the_claimer_and_the_flag_to_the_others() {
    let gateway = TestGateway::rewarding(&[at_once()]);
    let mut claimer = gateway.connect(MID).await;
    let mut others = [gateway.connect(MID).await, gateway.connect(MID).await, gateway.connect(MID).await];
    let mut stranger = gateway.connect(43).await;
    let (today, at) = (claimer.today(), claimer.now() - 1_000);
    claimer.play(None, [beat(100, at)]).await;
    assert_eq!(claimer.reward().await["rule"], "at-once");
    for (other, later) in others.iter_mut().zip(1..) {
        assert_eq!(other.pushed_flag().await, json!(today));
        let acked = other.play(None, [beat(200, at + later)]).await;
        assert_eq!(acked.flag(), Some(today.as_str()));
        other.was_given_nothing().await;
    }
    claimer.was_given_nothing().await;
    stranger.was_given_nothing().await;
}

#[tokio::test]
async fn a_claim_over_http_is_told_to_all_but_the_connection_it_names() {
    let gateway = TestGateway::rewarding(&[at_once()]);
    let mut named = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let today = named.today();
    let body = json!({"items": [beat(100, named.now()).json()], "connection": named.connection()});
    let answer = gateway.http(MID).post("/v1/beats", &body).await.json();
    assert_eq!(answer["flag"], json!(today));
    assert_eq!(other.pushed_flag().await, json!(today));
    other.was_given_nothing().await;
    // It is not told, but knows.
    assert_eq!(named.play(None, []).await.flag(), Some(today.as_str()));
    named.was_given_nothing().await;
}

#[tokio::test]
async fn the_flag_comes_only_once_all_user_rules_are_decided() {
    let gateway = TestGateway::rewarding(&[at_once(), first_of_day()]);
    let mut client = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let (today, at) = (client.today(), client.now());
    assert_eq!(client.play(None, [beat(100, at)]).await.flag(), None, "one of two");
    assert_eq!(client.reward().await["rule"], "at-once");
    assert_eq!(gateway.connect(MID).await.welcome().get("flag"), None);
    other.was_given_nothing().await;
    tokio::time::sleep(ENOUGH).await;
    let acked = client.play(None, [beat(100, at + 400).watched(5_400)]).await;
    assert_eq!(acked.flag(), Some(today.as_str()));
    assert_eq!(client.reward().await["rule"], "first-of-day");
    assert_eq!(other.pushed_flag().await, json!(today));
    client.was_given_nothing().await;
    other.was_given_nothing().await;
}

#[tokio::test]
async fn without_rules_there_is_neither_flag_nor_reward() {
    let gateway = TestGateway::rewarding(&[]);
    let mut client = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    assert_eq!(client.welcome().get("flag"), None);
    let today = client.today();
    for flag in [None, Some(today.as_str())] {
        let acked = client.play(flag, [beat(100, client.now())]).await;
        assert_eq!(acked.last.get("flag"), None);
        let answer = post_beats(&gateway.http(MID), flag, [beat(200, client.now())]).await;
        assert_eq!((answer.get("flag"), &answer["rewards"]), (None, &json!([])));
    }
    client.was_given_nothing().await;
    other.was_given_nothing().await;
    assert_eq!(gateway.rewards_today(MID).await.len(), 0);
    assert_eq!(gateway.event_log().await, [Value::Null; 0]);
}

#[tokio::test]
async fn a_reward_does_not_wait_for_a_late_ack() {
    const DELAY: Duration = Duration::from_millis(1_500);
    for (rule, flagged) in [(first_of_day(), true), (per_content("first-view", "300ms"), false)] {
        let gateway = TestGateway::rewarding_with(&[rule], &[("limits.ack_delay", NEVER)]);
        let mut client = gateway.connect(MID).await;
        let never = client.welcome()["limits"]["ack_delay"].clone();
        client.call(json!({"hello": {"ack_delay": never}})).await;
        let at = client.now();
        client.play(None, [beat(100, at)]).await;
        tokio::time::sleep(ENOUGH).await;
        let acked = client.play(None, [beat(100, at + 400).watched(5_400)]).await;
        client.reward().await;
        assert_eq!(acked.flag().is_some(), flagged);
        client.call(json!({"hello": {"ack_delay": DELAY.as_millis() as u64}})).await;
        let sent = Instant::now();
        client.play(None, [beat(100, at + 500).watched(5_500)]).await;
        assert!(sent.elapsed() >= DELAY, "it was a steady beat");
    }
}

#[tokio::test]
async fn a_batch_of_many_frames_is_rewarded_once() {
    let gateway = TestGateway::rewarding(&[at_once()]);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    let mut last = 0;
    for step in 0..50 {
        last = client.send(beats([beat(100 + step, at + step), beat(200, at + step)])).await;
    }
    assert!(client.acked(last).await.flag().is_some());
    client.reward().await;
    client.was_given_nothing().await;
    assert_eq!(gateway.claims("at-once").await, 1);
}
