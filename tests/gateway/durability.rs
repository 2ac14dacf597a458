//! Acked beats are there after SIGKILL and a restart, and deleted records stay deleted.

use serde_json::{Value, json};

use crate::support::{MID, TestGateway, beat, beats, items, reasons};

#[tokio::test]
async fn an_acked_beat_survives_sigkill() {
    let mut gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.call(json!({"hello": {"device": "tv-3f"}})).await;
    client.watch([beat(100, at).pos(73_200).dur(300_000)]).await;
    let record = client.record(100).await;
    gateway.restart();
    assert_eq!(gateway.connect(MID).await.record(100).await, record);
}

#[tokio::test]
async fn every_acked_beat_survives_sigkill_amid_beats() {
    let mut gateway = TestGateway::with(&[("limits.burst", "5000")]);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 10_000;
    let mut acked = 0;
    for round in 0..3 {
        for _ in 0..100 {
            let seq = client.last_seq() + 1;
            client.send(beats([beat(round * 1_000 + u64::from(seq), at)])).await;
        }
        acked = client.acked(50).await.last["seq"].as_u64().expect("ack.seq");
        assert!(acked >= 50);
        gateway.restart();
        client = gateway.connect(MID).await;
        let oids: Vec<Value> = (1..=acked).map(|seq| json!({"kind": 1, "oid": round * 1_000 + seq})).collect();
        let result = client.call(json!({"get": {"items": oids}})).await;
        let lost = result["records"].as_array().expect("records").iter().filter(|one| one.is_null());
        assert_eq!(lost.count(), 0, "of {acked} acked");
        client = gateway.connect(MID).await;
    }
    assert!(acked > 0);
}

#[tokio::test]
async fn a_beat_answered_over_http_survives_sigkill() {
    let mut gateway = TestGateway::start();
    let http = gateway.http(MID);
    let now = http.post("/v1/beats", &items([])).await.json()["now"].as_u64().expect("now");
    http.post("/v1/beats", &items([beat(100, now)])).await.json();
    gateway.restart();
    assert_eq!(gateway.http(MID).get("/v1/history/1/100").await.json()["at"], now);
}

#[tokio::test]
async fn forgetting_survives_sigkill() {
    let mut gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 60_000;
    client.watch([beat(100, at + 20), beat(101, at + 20), beat(102, at + 30)]).await;
    client.delete(100, at + 20).await;
    client.clear(at + 5).await;
    client.pause_recording(true, at + 40).await;
    client.pause_recording(false, at + 50).await;
    client.pause_recording(true, at + 60).await;
    gateway.restart();

    let mut client = gateway.connect(MID).await;
    assert_eq!(client.welcome()["recording"], json!({"paused": true}));
    assert_eq!(client.listed(json!({})).await, [102, 101]);
    for (oid, at, reason) in [
        (100, at + 20, "superseded"),
        (103, at + 5, "superseded"),
        (103, at + 45, "not_recording"),
        (103, at + 60, "not_recording"),
    ] {
        let rejected = client.beats([beat(oid, at).session(9)]).await;
        assert_eq!(reasons(&rejected), [(0, reason)], "oid {oid} at {at}");
    }
    client.watch([beat(100, at + 21), beat(103, at + 55)]).await;
}

#[tokio::test]
async fn a_resend_after_a_restart_changes_nothing() {
    let mut gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at).pos(50_000)]).await;
    let record = client.record(100).await;
    gateway.restart();
    let mut client = gateway.connect(MID).await;
    client.watch([beat(100, at).pos(50_000)]).await;
    let rejected = client.beats([beat(100, at - 1)]).await;
    assert_eq!(reasons(&rejected), [(0, "superseded")]);
    assert_eq!(client.record(100).await, record);
}

#[tokio::test]
async fn a_cursor_survives_a_restart() {
    let mut gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch((0..6).map(|oid| beat(oid, at - oid))).await;
    let result = client.call(json!({"list": {"limit": 3}})).await;
    gateway.restart();
    let mut client = gateway.connect(MID).await;
    assert_eq!(client.listed(json!({"cursor": result["cursor"], "limit": 3})).await, [3, 4, 5]);
}
