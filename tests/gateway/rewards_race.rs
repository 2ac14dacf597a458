//! Many connections of one user that qualify for the same reward at the same time.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, beat, beats, per_content, per_user, post_beats};

const RACERS: u64 = 200;
const SETTINGS: [(&str, &str); 2] = [("limits.connections_per_user", "256"), ("server.threads", "4")];

async fn connect_all(gateway: &TestGateway) -> Vec<TestClient> {
    let mut racers = Vec::new();
    for _ in 0..RACERS {
        racers.push(gateway.connect(MID).await);
    }
    racers
}

/// All send before any of them waits. The rewards that came, and how many got the flag, by ack or by push.
async fn race(racers: &mut [TestClient], frame: impl Fn(usize) -> Value) -> (Vec<Value>, usize) {
    let mut sent = Vec::new();
    for (number, racer) in racers.iter_mut().enumerate() {
        sent.push(racer.send(frame(number)).await);
    }
    let (mut rewards, mut told) = (Vec::new(), 0);
    for (racer, seq) in racers.iter_mut().zip(sent) {
        let acked = racer.acked(seq).await;
        if acked.flag().is_none() {
            racer.pushed_flag().await;
        }
        told += 1;
    }
    for racer in racers.iter_mut() {
        racer.still_serves().await;
        rewards.extend(racer.kept("reward").into_iter().cloned());
    }
    (rewards, told)
}

async fn assert_one_claim(gateway: &TestGateway, rewards: &[Value]) {
    assert_eq!(rewards.len(), 1, "{rewards:?}");
    assert_eq!(gateway.claims("first-of-day").await, 1);
    // One more, after all of the others.
    let (_, now) = gateway.today_and_now().await;
    post_beats(&gateway.http(43), None, [beat(1, now)]).await;
    let events = gateway.events(2).await;
    let subjects: Vec<_> = events.iter().map(|event| &event["subject"]).collect();
    assert_eq!(subjects, ["42", "43"]);
    assert_eq!(events[0]["id"], rewards[0]["id"]);
}

#[tokio::test]
async fn of_200_connections_with_contents_of_their_own_one_is_rewarded() {
    let gateway = TestGateway::rewarding_with(&[per_user("first-of-day", "0s")], &SETTINGS);
    let mut racers = connect_all(&gateway).await;
    let at = racers[0].now();
    let (rewards, told) = race(&mut racers, |number| beats([beat(number as u64, at)])).await;
    assert_eq!(told as u64, RACERS);
    assert_one_claim(&gateway, &rewards).await;
}

#[tokio::test]
async fn of_200_connections_that_play_the_same_one_is_rewarded() {
    let gateway = TestGateway::rewarding_with(&[per_user("first-of-day", "0s")], &SETTINGS);
    let mut racers = connect_all(&gateway).await;
    let at = racers[0].now() - 1_000;
    let frame = |number: usize| beats([beat(100, at + number as u64).session(number as u64)]);
    let (rewards, _) = race(&mut racers, frame).await;
    assert_one_claim(&gateway, &rewards).await;
}

/// All of them wait for the commit before their own, and are then decided together.
#[tokio::test]
async fn of_200_connections_in_one_commit_one_is_rewarded() {
    let settings = [&SETTINGS[..], &[("store.group_interval", "500ms")]].concat();
    let gateway = TestGateway::rewarding_with(&[per_user("first-of-day", "0s")], &settings);
    let mut racers = connect_all(&gateway).await;
    let mut first = gateway.connect(7).await;
    let at = racers[0].now();
    // Too old to be rewarded.
    first.play(None, [beat(1, at - 120_000)]).await;
    let (rewards, _) = race(&mut racers, |number| beats([beat(number as u64, at)])).await;
    assert_one_claim(&gateway, &rewards).await;
}

#[tokio::test]
async fn of_200_connections_whose_credit_suffices_at_once_one_is_rewarded() {
    let gateway = TestGateway::rewarding_with(&[per_user("first-of-day", "500ms")], &SETTINGS);
    let mut racers = connect_all(&gateway).await;
    let at = racers[0].now();
    let before = |number: usize| beats([beat(number as u64, at)]);
    for (number, racer) in racers.iter_mut().enumerate() {
        let seq = racer.send(before(number)).await;
        assert_eq!(racer.acked(seq).await.flag(), None);
    }
    tokio::time::sleep(Duration::from_millis(600)).await;
    let enough = |number: usize| beats([beat(number as u64, at + 600).watched(5_600)]);
    let (rewards, _) = race(&mut racers, enough).await;
    assert_eq!(rewards.len(), 1, "{rewards:?}");
    assert_eq!((gateway.claims("first-of-day").await, gateway.events(1).await.len()), (1, 1));
}

#[tokio::test]
async fn sockets_and_requests_that_race_for_a_content_get_one_reward() {
    let rules = [per_user("first-of-day", "0s"), per_content("first-view", "0s")];
    let gateway = TestGateway::rewarding_with(&rules, &[("limits.burst", "1000")]);
    let mut racers = Vec::new();
    for _ in 0..20 {
        racers.push(gateway.connect(MID).await);
    }
    let at = racers[0].now() - 1_000;
    let contents = |number: u64| (0..10).map(move |oid| beat(oid, at + number).session(number));
    let http = gateway.http(MID);
    let requests: Vec<_> = (0..20)
        .map(|number| {
            let (http, mut body) = (http.clone(), json!({}));
            body["items"] = contents(100 + number).map(|beat| beat.json()).collect();
            tokio::spawn(async move { http.post("/v1/beats", &body).await.json() })
        })
        .collect();
    let mut sent = Vec::new();
    for (number, racer) in racers.iter_mut().enumerate() {
        sent.push(racer.send(beats(contents(number as u64))).await);
    }
    let mut ids = Vec::new();
    for request in requests {
        let answer = request.await.expect("an answer");
        ids.extend(answer["rewards"].as_array().expect("rewards").iter().map(|one| one["id"].to_string()));
    }
    for (racer, seq) in racers.iter_mut().zip(sent) {
        racer.acked(seq).await;
        racer.still_serves().await;
        ids.extend(racer.kept("reward").into_iter().map(|one| one["id"].to_string()));
    }
    ids.sort_unstable();
    assert_eq!(ids.len(), 11, "{ids:?}");
    ids.dedup();
    assert_eq!(ids.len(), 11);
    assert_eq!((gateway.claims("first-of-day").await, gateway.claims("first-view").await), (1, 10));
    let mut events: Vec<_> = gateway.events(11).await.iter().map(|event| event["id"].to_string()).collect();
    events.sort_unstable();
    assert_eq!(events, ids);
}
