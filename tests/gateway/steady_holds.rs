//! `store.steady_hold`: steady beats wait for later ones, unacked; whatever asks for them commits them.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{MID, NEVER, TestClient, TestGateway, beat, beats, until};

const HOLD: Duration = Duration::from_secs(4);

/// A gateway that holds steady beats for so long.
fn holding(hold: &str) -> TestGateway {
    TestGateway::with(&settings(hold))
}

fn settings(hold: &str) -> [(&str, &str); 7] {
    [
        ("store.steady_hold", hold),
        ("limits.ack_delay", hold),
        // May not be shorter than the hold, or than twice of it.
        ("push.steady_interval", NEVER),
        ("socket.idle", "1h"),
        ("server.drain_timeout", NEVER),
        // A beat that may earn something, or count a view, is not held.
        ("rewards.rules", "[]"),
        ("views.by_playback", "[]"),
    ]
}

/// What it holds comes by itself when every test has run out of patience.
fn gateway() -> TestGateway {
    holding(NEVER)
}

/// A client whose content 100 plays, and which has asked for acks as late as can be; the `at` of its newest beat.
async fn playing(gateway: &TestGateway) -> (TestClient, u64) {
    playing_content(gateway, 100).await
}

async fn playing_content(gateway: &TestGateway, oid: u64) -> (TestClient, u64) {
    let mut client = gateway.connect(MID).await;
    let delay = client.welcome()["limits"]["ack_delay"].clone();
    client.call(json!({"hello": {"ack_delay": delay}})).await;
    let at = client.now() - 1_000;
    client.watch([beat(oid, at)]).await;
    (client, at)
}

#[tokio::test]
async fn the_metrics_show_how_many_beats_are_held() {
    let gateway = gateway();
    let (mut client, at) = playing(&gateway).await;
    assert_eq!(gateway.metric("heartline_held_beats").await, 0.0);
    for step in 1..=3 {
        client.send(beats([beat(100, at + step).pos(1_000 * step)])).await;
    }
    gateway.wait_for_metric("heartline_held_beats", |held| held == 3.0).await;
    assert_eq!(gateway.metric("heartline_uncommitted_slots").await, 0.0);
    // A read has them committed.
    client.position(100).await;
    assert_eq!(gateway.metric("heartline_held_beats").await, 0.0);
}

#[tokio::test]
async fn one_ack_tells_of_all_beats_of_a_hold() {
    let gateway = holding("4s");
    let (mut client, at) = playing(&gateway).await;
    let began = Instant::now();
    let mut last = 0;
    for step in 1..=5 {
        last = client.send(beats([beat(100, at + step).pos(1_000 * step)])).await;
    }
    assert_eq!(client.next().await, json!({"ack": {"seq": last}}));
    assert!(began.elapsed() >= HOLD, "after {:?}", began.elapsed());
    assert_eq!(client.position(100).await, Some(5_000));
}

#[tokio::test]
async fn other_sockets_and_requests_read_what_is_held() {
    let gateway = gateway();
    let (mut client, at) = playing(&gateway).await;
    let mut other = gateway.connect(MID).await;
    let http = gateway.http(MID);
    let held = async |count: f64| gateway.wait_for_metric("heartline_beats_held_total", |held| held >= count).await;
    for step in 1..=3 {
        client.send(beats([beat(100, at + 2 * step).pos(1_000 * step)])).await;
        held(2.0 * step as f64 - 1.0).await;
        assert_eq!(other.position(100).await, Some(1_000 * step));
        client.send(beats([beat(100, at + 2 * step + 1).pos(1_000 * step + 1)])).await;
        held(2.0 * step as f64).await;
        let history = http.get("/v1/history").await.json();
        assert_eq!(history["records"][0]["pos"].as_u64(), Some(1_000 * step + 1));
    }
}

#[tokio::test]
async fn a_pause_of_another_device_refuses_only_what_was_played_after_it() {
    let gateway = gateway();
    let (mut client, at) = playing(&gateway).await;
    let mut other = gateway.connect(MID).await;
    let mut last = 0;
    for step in 1..=4 {
        last = client.send(beats([beat(100, at + 100 * step).pos(1_000 * step)])).await;
    }
    gateway.wait_for_metric("heartline_beats_held_total", |held| held >= 4.0).await;
    other.pause_recording(true, at + 250).await;
    let rejected = client.acked(last).await.rejected;
    let refused: Vec<_> = rejected.iter().map(|one| (one["seq"].as_u64(), one["reason"].as_str())).collect();
    let [third, fourth] = [last - 1, last].map(|seq| (Some(u64::from(seq)), Some("not_recording")));
    assert_eq!(refused, [third, fourth]);
    assert_eq!(other.position(100).await, Some(2_000));
}

#[tokio::test]
#[ignore = "needs Redis: tests/run gateway-redis"]
async fn a_change_at_another_gateway_commits_what_is_held() {
    let often = [("limits.frames_per_second", "2000"), ("limits.burst", "2000")];
    let gateway = TestGateway::on_redis(&[&settings(NEVER)[..], &often[..]].concat());
    let neighbour = gateway.neighbour();
    let (mut client, at) = playing(&gateway).await;
    client.send(beats([beat(100, at + 1).pos(78_000)])).await;
    gateway.wait_for_metric("heartline_beats_held_total", |held| held > 0.0).await;
    // Its reads do not end a hold of the first gateway.
    let mut other = neighbour.connect(MID).await;
    assert_eq!(other.position(100).await, Some(10_000));
    let mut changes = 0;
    until("the commit", async || {
        // A message is lost if the first gateway does not hear of the user yet.
        changes += 1;
        other.pause_recording(changes % 2 == 1, at + 100 + changes).await;
        other.position(100).await == Some(78_000)
    })
    .await;
}

#[tokio::test]
async fn a_lost_connection_commits_what_it_holds() {
    let gateway = gateway();
    let (mut client, at) = playing(&gateway).await;
    client.send(beats([beat(100, at + 1).pos(78_000)])).await;
    gateway.wait_for_metric("heartline_beats_held_total", |held| held > 0.0).await;
    drop(client);
    let mut other = gateway.connect(MID).await;
    until("the commit", async || other.position(100).await == Some(78_000)).await;
}

/// A read that finds the connection gone must not find what was stored before.
#[tokio::test]
async fn a_read_just_after_the_end_of_a_connection_sees_what_it_held() {
    let gateway = gateway();
    let mut other = gateway.connect(MID).await;
    for round in 1..=20 {
        let (mut client, at) = playing_content(&gateway, round).await;
        client.send(beats([beat(round, at + 1).pos(78_000)])).await;
        gateway.wait_for_metric("heartline_beats_held_total", |held| held >= round as f64).await;
        client.reset();
        assert_eq!(other.position(round).await, Some(78_000), "round {round}");
    }
}

#[tokio::test]
async fn a_drain_commits_what_is_held_and_says_so() {
    let mut gateway = gateway();
    let (mut client, at) = playing(&gateway).await;
    let seq = client.send(beats([beat(100, at + 1).pos(78_000)])).await;
    gateway.wait_for_metric("heartline_beats_held_total", |held| held > 0.0).await;
    gateway.terminate();
    client.acked(seq).await;
    assert!(gateway.ended().await.success());
    gateway.restart();
    assert_eq!(gateway.connect(MID).await.position(100).await, Some(78_000));
}
