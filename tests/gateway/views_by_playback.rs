//! Views by playback: once a day for each user and content, counted by the commit of a beat.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, beat, beats, per_user, rules};

const FILMS: (&str, &str) = ("views.by_playback", "[1, 2]");
const AT_ONCE: (&str, &str) = ("views.watched", "0s");
const COUNTED: &str = r#"heartline_views_counted_total{by="playback"}"#;
const REPEATED: &str = r#"heartline_views_repeated_total{by="playback"}"#;

fn gateway(settings: &[(&str, &str)]) -> TestGateway {
    let rewards = rules(&[per_user("first-of-day", "0s")]);
    TestGateway::embedded(&[&[FILMS, ("rewards.rules", rewards.as_str())], settings].concat())
}

async fn asked(gateway: &TestGateway, content: &str) -> Value {
    gateway.http(MID).post(&format!("/v1/views/{content}"), &json!({"session": "1"})).await.json()
}

async fn days(gateway: &TestGateway, content: &str) -> Value {
    gateway.http(MID).get(&format!("/v1/views/{content}/days")).await.json()
}

/// Each user and content once, however it is watched; and a kill loses nothing that was acked.
#[tokio::test]
async fn a_view_is_kept_with_the_beat_that_made_it() {
    let mut gateway = gateway(&[AT_ONCE]);
    let mut first = gateway.connect(MID).await;
    let (today, at) = (first.today(), first.now() - 1_000);
    for step in 0..3 {
        first.play(None, [beat(100, at + step), beat(200, at + step).kind(2)]).await;
    }
    let mut tv = gateway.connect(MID).await;
    tv.play(None, [beat(100, at + 10).session(2)]).await;
    let mut other = gateway.connect(43).await;
    other.play(None, [beat(100, at), beat(7, at).kind(9)]).await;
    for _ in 0..2 {
        assert_eq!(asked(&gateway, "1/100").await, json!({"views": 2, "counted": false}));
        assert_eq!(asked(&gateway, "2/200").await, json!({"views": 1, "counted": false}));
        assert_eq!(days(&gateway, "1/100").await, json!({"total": 2, "days": [{"day": today, "views": 2}]}));
        gateway.http(MID).post("/v1/views/9/7", &json!({})).await.problem(404, "not_found");
        gateway.restart();
    }
    let mut again = gateway.connect(MID).await;
    again.play(None, [beat(100, at + 20).session(3), beat(300, at)]).await;
    assert_eq!(asked(&gateway, "1/100").await["views"], 2);
    assert_eq!(asked(&gateway, "1/300").await["views"], 1);
    assert_eq!((gateway.metric(COUNTED).await, gateway.metric(REPEATED).await), (1.0, 1.0));
}

#[tokio::test]
async fn a_view_by_playback_is_sent_to_no_client_as_a_reward() {
    let gateway = gateway(&[AT_ONCE]);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.play(None, [beat(100, at)]).await;
    let id = format!("first-of-day:{}:42", client.today());
    assert_eq!(client.reward().await["id"], id);
    client.play(None, [beat(101, at), beat(102, at)]).await;
    client.was_given_nothing().await;
    assert_eq!(asked(&gateway, "1/102").await["views"], 1);
    assert_eq!(gateway.rewards_today(MID).await.keys().collect::<Vec<_>>(), [&id]);
    assert_eq!(gateway.event_ids(1).await, [id.clone()].into());
    let export = gateway.control().get(&format!("/v1/export?mid={MID}")).await;
    assert!(export.text().contains(&id) && !export.text().contains("_views"), "{}", export.text());
    let metrics = gateway.admin().get("/metrics").await.text().to_owned();
    assert!(metrics.contains(r#"rule="first-of-day""#) && !metrics.contains(r#""_views""#), "{metrics}");
}

/// Once it is counted, a beat asks nothing.
#[tokio::test]
async fn a_beat_of_a_content_that_was_counted_reads_nothing() {
    let gateway = gateway(&[AT_ONCE]);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.play(None, [beat(100, at)]).await;
    let before = gateway.metric("heartline_reward_store_reads_total").await;
    for step in 1..20 {
        client.play(None, [beat(100, at + step)]).await;
    }
    assert_eq!(gateway.metric("heartline_reward_store_reads_total").await, before);
    client.play(None, [beat(101, at)]).await;
    assert_eq!(gateway.metric("heartline_reward_store_reads_total").await, before + 1.0);
    assert_eq!((gateway.metric(COUNTED).await, gateway.metric(REPEATED).await), (2.0, 0.0));
}

#[tokio::test]
async fn what_was_not_watched_for_long_enough_is_no_view() {
    let gateway = gateway(&[("views.watched", "1s")]);
    let mut client = gateway.connect(MID).await;
    client.play(None, [beat(100, client.now()).session(9).watched(3_600_000)]).await;
    assert_eq!(asked(&gateway, "1/100").await["views"], 0);
    client.play_for(100, Duration::from_millis(1_050)).await;
    assert_eq!(asked(&gateway, "1/100").await["views"], 1);
}

#[tokio::test]
async fn each_day_has_its_views() {
    let gateway = gateway(&[AT_ONCE, ("demo.clock", "true")]);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.play(None, [beat(100, at)]).await;
    let today = client.today();
    let forward = json!({"forward": Duration::from_hours(24).as_millis() as u64});
    gateway.anonymous_http().post("/demo/clock", &forward).await.json();
    client.play(None, [beat(100, at + 1)]).await;
    client.play(None, [beat(100, at + 2)]).await;
    let days = days(&gateway, "1/100").await;
    assert_eq!(days["total"], 2);
    assert_eq!(days["days"][0], json!({"day": today, "views": 1}));
    assert_eq!((days["days"][1]["views"].clone(), days["days"].as_array().map(Vec::len)), (json!(1), Some(2)));
}

/// A rule of rewards that is new begins at midnight.
#[tokio::test]
async fn counting_begins_at_once() {
    let rewards = rules(&[per_user("first-of-day", "0s")]);
    let settings = [AT_ONCE, ("rewards.rules", rewards.as_str())];
    let mut gateway = TestGateway::embedded(&settings);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.play(None, [beat(100, at)]).await;
    client.reward().await;
    gateway.restart_with(&[&[FILMS], &settings[..]].concat());
    let mut client = gateway.connect(MID).await;
    client.play(None, [beat(100, at + 1)]).await;
    assert_eq!(asked(&gateway, "1/100").await, json!({"views": 1, "counted": false}));
    client.was_given_nothing().await;
}

#[tokio::test]
async fn forgetting_leaves_the_views() {
    let gateway = gateway(&[AT_ONCE]);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 5_000;
    client.play(None, [beat(100, at)]).await;
    assert_eq!(gateway.http(MID).delete("/v1/history/1/100").await.status, 204);
    client.play(None, [beat(100, client.now() + 1_000)]).await;
    assert_eq!(asked(&gateway, "1/100").await["views"], 1);
    let erased = gateway.control().post("/v1/erase", &json!({"mid": MID.to_string()})).await;
    assert_eq!(erased.status, 204, "{}", erased.text());
    assert_eq!(asked(&gateway, "1/100").await["views"], 1);
    let deleted = gateway.control().delete("/v1/views/1/100").await;
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    assert_eq!(days(&gateway, "1/100").await, json!({"total": 0, "days": []}));
}

/// What was committed has its view, and what was not has none: played again, each content has one.
#[tokio::test]
async fn a_kill_leaves_each_view_with_its_beat() {
    const FRAMES: u64 = 20;
    const EACH: u64 = 10;
    let mut gateway = gateway(&[AT_ONCE]);
    let frame = |client: &TestClient, from: u64| {
        let at = client.now() - 1_000;
        beats((from..from + EACH).map(|oid| beat(oid, at)))
    };
    for round in 0..4 {
        let first = round * FRAMES * EACH;
        let frames = || (0..FRAMES).map(move |number| first + number * EACH);
        let mut client = gateway.connect(MID).await;
        let mut sent = Vec::new();
        for from in frames() {
            sent.push(client.send(frame(&client, from)).await);
        }
        // The others are on their way.
        client.acked(sent[round as usize * 3]).await;
        gateway.restart();
        let mut client = gateway.connect(MID).await;
        for from in frames() {
            let seq = client.send(frame(&client, from)).await;
            client.acked(seq).await;
        }
        let items: Vec<Value> = (first..first + FRAMES * EACH).map(|oid| json!({"kind": 1, "oid": oid})).collect();
        let totals = gateway.http(MID).post("/v1/views/get", &json!({"items": items})).await.json();
        assert_eq!(totals["views"], json!(vec![1; items.len()]), "round {round}");
    }
}
