//! Rules of contents: the first view of each content by each user.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, beat, beats, per_content};

const CONTENTS: u64 = 300;

fn gateway() -> TestGateway {
    TestGateway::rewarding(&[per_content("first-view", "0s")])
}

/// The contents of all rewards that have come, each once.
fn rewarded(client: &TestClient) -> BTreeSet<u64> {
    let oid = |reward: &Value| reward["oid"].as_str().expect("an oid").parse().expect("digits");
    let rewards = client.kept("reward");
    let oids: BTreeSet<u64> = rewards.iter().map(|reward| oid(reward)).collect();
    assert_eq!(oids.len(), rewards.len(), "no content is rewarded twice");
    oids
}

#[tokio::test]
async fn each_content_is_rewarded_once_with_its_name() {
    let gateway = gateway();
    let mut client = gateway.connect(MID).await;
    let (today, at) = (client.today(), client.now() - 1_000);
    for oid in [100, 200] {
        client.play(None, [beat(oid, at).kind(3)]).await;
        let id = format!("first-view:{today}:42:3:{oid}");
        let expected = json!({"id": id, "rule": "first-view", "day": today, "kind": 3, "oid": oid.to_string()});
        assert_eq!(client.reward().await, expected);
        client.play(None, [beat(oid, at + 1).kind(3)]).await;
        client.was_given_nothing().await;
    }
    // Another kind is another content.
    client.play(None, [beat(100, at).kind(1)]).await;
    assert_eq!(client.reward().await["kind"], 1);
    assert_eq!(gateway.rewards_today(MID).await.len(), 3);
}

#[tokio::test]
async fn a_content_is_rewarded_once_per_user_across_connections() {
    let mut gateway = gateway();
    let mut client = gateway.connect(MID).await;
    let mut second = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.play(None, [beat(100, at)]).await;
    client.reward().await;
    second.play(None, [beat(100, at + 1).session(2)]).await;
    second.was_given_nothing().await;
    let mut stranger = gateway.connect(43).await;
    stranger.play(None, [beat(100, at)]).await;
    assert!(stranger.reward().await["id"].as_str().is_some_and(|id| id.ends_with(":43:1:100")));
    gateway.restart();
    let mut client = gateway.connect(MID).await;
    client.play(None, [beat(100, at + 2).session(3)]).await;
    client.was_given_nothing().await;
    assert_eq!(gateway.event_ids(2).await.len(), 2);
}

#[tokio::test]
async fn contents_of_one_frame_are_rewarded_each() {
    let gateway = gateway();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.play(None, (0..CONTENTS).map(|oid| beat(oid, at))).await;
    client.still_serves().await;
    assert_eq!(rewarded(&client), (0..CONTENTS).collect());
    let log = gateway.events(CONTENTS as usize).await;
    assert_eq!(log.len(), CONTENTS as usize);
    let today = gateway.rewards_today(MID).await;
    let of_events: BTreeSet<_> = log.iter().map(|event| event["id"].as_str().expect("an id")).collect();
    assert_eq!(today.keys().map(String::as_str).collect::<BTreeSet<_>>(), of_events);
}

/// Filled far beyond what it is for, a filter may deny or give way to the store, and nothing is given twice.
#[tokio::test]
async fn an_overfull_filter_never_rewards_a_content_twice() {
    let rule = r#"{ id = "first-view", per = "content", kinds = [], watched = "0s", exact = false, expected = 1000,
                    probability = 0.01 }"#;
    let rule = rule.replace('\n', " ");
    let mut gateway = TestGateway::rewarding(&[rule]);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    for step in 0..3 {
        let mut last = 0;
        for from in (0..2_000).step_by(400) {
            last = client.send(beats((from..from + 400).map(|oid| beat(oid, at + step)))).await;
        }
        assert!(client.acked(last).await.rejected.is_empty());
    }
    client.still_serves().await;
    let first = rewarded(&client);
    assert!(!first.is_empty());
    gateway.restart();
    let mut client = gateway.connect(MID).await;
    client.play(None, (0..400).map(|oid| beat(oid, at + 10))).await;
    client.still_serves().await;
    assert!(rewarded(&client).is_disjoint(&first));
    let ids = gateway.event_ids(first.len()).await;
    assert_eq!(ids.len(), first.len() + rewarded(&client).len());
}
