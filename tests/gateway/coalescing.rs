//! One slot per connection, content and session, and at most 60 s of `at`.

use serde_json::Value;

use crate::support::{MID, TestGateway, beat, beats, reasons};

#[tokio::test]
async fn the_newest_of_a_slot_speaks_for_all() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 10_000;
    client.watch((0..100).map(|step| beat(100, at + step * 50).pos(1_000 + step))).await;
    assert_eq!(client.position(100).await, Some(1_099));
}

#[tokio::test]
async fn the_order_in_a_frame_does_not_matter() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 10_000;
    for (oid, order) in [(100, [0, 1, 2]), (101, [2, 1, 0]), (102, [1, 2, 0])] {
        client.watch(order.map(|step| beat(oid, at + step).pos(1_000 + step))).await;
        assert_eq!(client.position(oid).await, Some(1_002), "{order:?}");
    }
}

#[tokio::test]
async fn of_a_superseded_slot_only_the_newest_is_listed() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    let rejected = client.beats([beat(100, at - 3), beat(100, at - 1), beat(100, at - 2)]).await;
    assert_eq!(reasons(&rejected), [(1, "superseded")]);
}

#[tokio::test]
async fn a_beat_refused_alone_takes_no_slot() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    let rejected = client
        .beats([
            beat(100, at).pos(50_000),
            beat(100, at + 1).with("rate", 17),
            beat(100, at + 2).state("paused").watched(0),
            beat(100, at + 60_000),
        ])
        .await;
    let mut told = reasons(&rejected);
    told.sort_unstable();
    assert_eq!(told, [(1, "invalid"), (2, "not_started"), (3, "clock")]);
    assert_eq!(client.position(100).await, Some(50_000));
}

#[tokio::test]
async fn sessions_do_not_share_a_slot() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    let newer = beat(100, at + 1).session(1).pos(50_000);
    let older = beat(100, at).session(2).pos(20_000);
    let rejected = client.beats([newer, older]).await;
    assert_eq!(reasons(&rejected), [(1, "superseded")]);
    assert_eq!(rejected[0]["record"]["session"], "1");
    assert_eq!(client.position(100).await, Some(50_000));
}

#[tokio::test]
async fn sessions_that_come_in_their_order_are_all_accepted() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch([beat(100, at).session(2), beat(100, at + 1).session(1).pos(50_000)]).await;
    assert_eq!(client.position(100).await, Some(50_000));
}

#[tokio::test]
async fn beats_more_than_60_s_apart_do_not_share_a_slot() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    // The newest falls into a pause; were it to speak for the old one, that would be lost with it.
    client.pause_recording(true, now - 30_000).await;
    let rejected = client.beats([beat(100, now - 100_000).pos(20_000), beat(100, now).pos(90_000)]).await;
    assert_eq!(reasons(&rejected), [(1, "not_recording")]);
    assert_eq!(client.position(100).await, Some(20_000));
}

#[tokio::test]
async fn a_long_trail_of_one_session_is_accepted_whole() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 3_000_000;
    client.watch((0..500).map(|step| beat(100, at + step * 5_000).pos(step * 5_000))).await;
    assert_eq!(client.position(100).await, Some(499 * 5_000));
}

#[tokio::test]
async fn contents_and_kinds_do_not_share_a_slot() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch((0..500).map(|oid| beat(oid / 2, at).kind((oid % 2) as u16).pos(oid))).await;
    let result = client.call(serde_json::json!({"list": {"limit": 200}})).await;
    for record in result["records"].as_array().expect("records") {
        let oid: u64 = record["oid"].as_str().expect("an oid").parse().expect("digits");
        assert_eq!(record["pos"], oid * 2 + record["kind"].as_u64().expect("a kind"));
    }
}

#[tokio::test]
async fn connections_do_not_share_a_slot() {
    let gateway = TestGateway::start();
    let mut one = gateway.connect(MID).await;
    let mut two = gateway.connect(MID).await;
    let at = one.now() - 1_000;
    let (first, second) = (beats([beat(100, at + 5)]), beats([beat(100, at)]));
    let seq = one.send(first).await;
    one.acked(seq).await;
    let seq = two.send(second).await;
    assert_eq!(reasons(&two.acked(seq).await.rejected), [(0, "superseded")]);
}

#[tokio::test]
async fn frames_that_are_sent_at_once_lose_nothing() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 10_000;
    let mut last = 0;
    for step in 0..60 {
        let other = beat(200 + step, at + step);
        last = client.send(beats([beat(100, at + step).pos(step), other.pos(step)])).await;
    }
    let acked = client.acked(last).await;
    assert!(acked.rejected.is_empty(), "{:?}", acked.rejected);
    assert_eq!(client.position(100).await, Some(59));
    for oid in [200, 259] {
        assert_ne!(client.record(oid).await, Value::Null, "{oid}");
    }
}
