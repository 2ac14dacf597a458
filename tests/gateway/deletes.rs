//! Deletes and clears: which records are removed, and which late beats are rejected.

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, beat, reasons};

async fn superseded(client: &mut TestClient, oid: u64, at: u64) -> Value {
    let rejected = client.beats([beat(oid, at)]).await;
    assert_eq!(reasons(&rejected), [(0, "superseded")], "oid {oid}");
    rejected[0].clone()
}

#[tokio::test]
async fn a_deleted_record_is_gone_and_the_others_stay() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at), beat(101, at), beat(100, at).kind(3)]).await;
    let items = json!([{"kind": 1, "oid": "100"}]);
    let result = client.call(json!({"delete": {"items": items, "at": at}})).await;
    assert_eq!(result, json!({"seq": client.last_seq()}));
    assert_eq!(client.record(100).await, Value::Null);
    let mut left = client.listed(json!({})).await;
    left.sort_unstable();
    assert_eq!(left, [100, 101], "the same oid of another kind, and another oid");
}

#[tokio::test]
async fn a_delete_spares_a_newer_record() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    client.delete(100, at - 1).await;
    assert_eq!(client.position(100).await, Some(10_000));
}

#[tokio::test]
async fn a_late_beat_does_not_bring_a_deleted_record_back() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch([beat(100, at)]).await;
    client.delete(100, at + 10).await;
    for late in [at - 1, at, at + 5, at + 10] {
        let rejected = superseded(&mut client, 100, late).await;
        assert_eq!(rejected.get("record"), None, "there is none");
    }
    assert_eq!(client.record(100).await, Value::Null);
    assert_eq!(client.listed(json!({})).await, [0; 0]);
}

#[tokio::test]
async fn a_late_beat_against_a_tombstone_gets_the_record_there_is() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.delete(100, at).await;
    client.watch([beat(100, at + 10)]).await;
    assert_eq!(superseded(&mut client, 100, at - 5).await["record"], client.record(100).await);
}

#[tokio::test]
async fn a_greater_session_does_not_pass_a_tombstone_of_its_time() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.delete(100, at).await;
    let rejected = client.beats([beat(100, at).session(u64::MAX)]).await;
    assert_eq!(reasons(&rejected), [(0, "superseded")]);
}

#[tokio::test]
async fn a_beat_newer_than_a_tombstone_is_recorded() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch([beat(100, at)]).await;
    client.delete(100, at + 10).await;
    client.watch([beat(100, at + 11).pos(20_000)]).await;
    assert_eq!(client.position(100).await, Some(20_000));
    client.delete(100, at + 11).await;
    assert_eq!(client.record(100).await, Value::Null);
}

#[tokio::test]
async fn an_older_delete_moves_no_tombstone_back() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.delete(100, at + 10).await;
    client.delete(100, at).await;
    superseded(&mut client, 100, at + 5).await;
}

#[tokio::test]
async fn a_content_without_a_record_may_be_deleted() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.delete(100, at).await;
    superseded(&mut client, 100, at).await;
    client.watch([beat(101, at)]).await;
}

#[tokio::test]
async fn five_hundred_records_are_deleted_in_one_frame() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch((0..500).map(|oid| beat(oid, at + oid % 2))).await;
    let items: Vec<Value> = (0..500).map(|oid| json!({"kind": 1, "oid": oid})).collect();
    client.call(json!({"delete": {"items": items, "at": at}})).await;
    let left = client.listed(json!({"limit": 200})).await;
    assert!(left.len() == 200 && left.iter().all(|oid| oid % 2 == 1), "{left:?}");
}

#[tokio::test]
async fn a_clear_takes_all_records_up_to_its_time() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch([beat(100, at), beat(101, at + 5).kind(3), beat(102, at + 6)]).await;
    let result = client.call(json!({"clear": {"at": at + 5}})).await;
    assert_eq!(result, json!({"seq": client.last_seq()}));
    assert_eq!(client.listed(json!({})).await, [102]);
    superseded(&mut client, 100, at + 5).await;
    superseded(&mut client, 999, at + 4).await;
    client.watch([beat(100, at + 6), beat(999, at + 6)]).await;
}

#[tokio::test]
async fn an_older_clear_moves_no_watermark_back() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.clear(at + 10).await;
    client.clear(at).await;
    superseded(&mut client, 100, at + 5).await;
}

#[tokio::test]
async fn a_tombstone_and_a_watermark_apply_independently() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.delete(100, at + 10).await;
    client.clear(at + 5).await;
    superseded(&mut client, 100, at + 7).await;
    superseded(&mut client, 101, at + 5).await;
    client.watch([beat(101, at + 7), beat(100, at + 11)]).await;
}

#[tokio::test]
async fn forgetting_more_than_5_s_ahead_is_invalid() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    let (ahead, items) = (at + 60_000, json!([{"kind": 1, "oid": "100"}]));
    for (path, frame) in [
        ("delete.at", json!({"delete": {"items": items, "at": ahead}})),
        ("clear.at", json!({"clear": {"at": ahead}})),
        ("recording.at", json!({"recording": {"paused": true, "at": ahead}})),
    ] {
        let error = client.refused(frame).await;
        let message = error["message"].as_str().expect("a message");
        assert_eq!((error["code"].as_str(), message.split(": ").next()), (Some("invalid"), Some(path)));
        client.still_serves().await;
    }
    assert_eq!(client.position(100).await, Some(10_000));
    client.watch([beat(100, at + 1)]).await;
}

#[tokio::test]
async fn forgetting_a_little_ahead_is_taken() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() + 3_000;
    client.watch([beat(100, at)]).await;
    client.delete(100, at).await;
    assert_eq!(client.record(100).await, Value::Null);
    client.watch([beat(101, at)]).await;
    client.clear(at).await;
    assert_eq!(client.listed(json!({})).await, [0; 0]);
}
