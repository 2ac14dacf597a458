//! Acks are cumulative, come after the commit, and never before a rejection they cover.

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, beat, beats};

/// Reads acks until `seq` is covered; none may cover a rejection that has not come.
async fn check_acks(client: &mut TestClient, seq: u32, expected: &[u32]) {
    let mut acked = 0;
    let mut rejected = Vec::new();
    while acked < seq {
        let frame = client.wait_for("an ack", |frame| frame["ack"].is_object()).await;
        let now = frame["ack"]["seq"].as_u64().expect("ack.seq") as u32;
        assert!(now >= acked, "acks never go back");
        acked = now;
        for one in frame["ack"]["rejected"].as_array().into_iter().flatten() {
            rejected.push(one["seq"].as_u64().expect("its seq") as u32);
        }
        let due: Vec<u32> = expected.iter().copied().filter(|one| *one <= acked).collect();
        assert!(due.iter().all(|one| rejected.contains(one)), "{acked} acked before {due:?}");
    }
    rejected.sort_unstable();
    assert_eq!(rejected, expected);
}

#[tokio::test]
async fn an_ack_covers_all_before_it() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    for step in 1..=50 {
        client.send(beats([beat(100 + step, at + step)])).await;
    }
    check_acks(&mut client, 50, &[]).await;
    assert!(client.frames_kept().is_empty(), "nothing but acks");
}

#[tokio::test]
async fn no_ack_comes_before_a_rejection_it_covers() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch([beat(7, at + 500)]).await;
    let mut expected = Vec::new();
    for step in 0..60 {
        let one = match step % 3 {
            0 => beat(100 + step, at + step),
            1 => beat(100 + step, at + step).with("rate", 17),
            // A session each: slots of their own, so each is told.
            _ => beat(7, at + step).session(step + 100),
        };
        let seq = client.send(beats([one])).await;
        if step % 3 != 0 {
            expected.push(seq);
        }
    }
    check_acks(&mut client, 61, &expected).await;
}

#[tokio::test]
async fn an_empty_frame_is_acked() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    assert!(client.beats([]).await.is_empty());
}

#[tokio::test]
async fn an_ack_skips_what_is_no_beats_frame() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.send_as(10, json!({"get": {"items": []}})).await;
    client.send_as(20, beats([beat(100, at)])).await;
    client.send_as(30, json!({"get": {"items": []}})).await;
    let acked = client.acked(20).await;
    assert!(acked.last["seq"] == 20 || acked.last["seq"] == 30, "{:?}", acked.last);
}

#[tokio::test]
async fn a_broken_frame_between_does_not_hold_acks_back() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.send(beats([beat(100, at)])).await;
    client.send(beats([beat(101, at).with("pos", -1)])).await;
    client.send(beats([beat(102, at)])).await;
    client.acked(3).await;
    assert_eq!(client.error().await["seq"], 2);
    assert_eq!(client.record(101).await, Value::Null);
    assert_eq!(client.position(102).await, Some(10_000));
}

#[tokio::test]
async fn a_malformed_flag_counts_as_no_flag() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    for (step, flag) in (0..).zip([
        json!(""),
        json!("yesterday"),
        json!("2026-13-45"),
        json!("9999-01-01"),
        json!("0000-00-00"),
        json!(20_261_120),
        json!(true),
        json!(null),
        json!(["2026-11-20"]),
        json!({"day": "2026-11-20"}),
    ]) {
        let mut frame = beats([beat(100, at + step)]);
        frame["beats"]["flag"] = json!(flag);
        let seq = client.send(frame).await;
        assert!(client.acked(seq).await.rejected.is_empty(), "{flag}");
    }
}

#[tokio::test]
async fn the_records_of_the_first_64_rejections_come_along() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch((0..200).map(|oid| beat(oid, at))).await;
    let rejected = client.beats((0..200).map(|oid| beat(oid, at - 1))).await;
    assert_eq!(rejected.len(), 200);
    let with_record = rejected.iter().filter(|one| one["record"]["at"] == at);
    assert!(with_record.count() >= 64);
}

#[tokio::test]
async fn one_ack_brings_the_records_of_the_first_64_rejections_of_each_frame() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch((0..240).map(|oid| beat(oid, at))).await;
    let mut last = 0;
    for frame in 0..4 {
        last = client.send(beats((0..60).map(|oid| beat(frame * 60 + oid, at - 1)))).await;
    }
    let rejected = client.acked(last).await.rejected;
    assert_eq!(rejected.iter().filter(|one| one["record"]["at"] == at).count(), 240);
}

#[tokio::test]
async fn too_much_unacked_is_never_an_error() {
    let gateway = TestGateway::with(&[("limits.uncommitted_slots", "500")]);
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    let mut last = 0;
    for frame in 0..20 {
        last = client.send(beats((0..250).map(|oid| beat(frame * 250 + oid, at)))).await;
    }
    let acked = client.acked(last).await;
    assert!(acked.rejected.is_empty());
    assert_eq!(client.position(4_999).await, Some(10_000));
}

#[tokio::test]
async fn a_read_sees_every_earlier_frame_of_its_connection() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    let get = || json!({"get": {"items": [{"kind": 1, "oid": "100"}]}});
    let mut reads = Vec::new();
    for step in 0..20 {
        client.send(beats([beat(100, at + step).pos(step)])).await;
        reads.push(client.send(get()).await);
    }
    let delete = json!({"delete": {"items": [{"kind": 1, "oid": "100"}], "at": at + 19}});
    client.send(delete).await;
    let after = client.send(get()).await;
    for (step, seq) in (0..).zip(reads) {
        let pos = client.answer(seq).await["result"]["records"][0]["pos"].as_u64().expect("a record");
        assert_eq!(pos, step, "a read sees what is before it, and nothing of what is after");
    }
    assert_eq!(client.answer(after).await["result"]["records"], json!([null]));
}

#[tokio::test]
async fn answers_come_in_the_order_of_their_frames() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.send(json!({"list": {}})).await;
    client.send(json!({"clear": {"at": at}})).await;
    client.send(json!({"get": {"items": []}})).await;
    client.send(json!({"recording": {"paused": false, "at": at}})).await;
    client.send(json!({"hello": {}})).await;
    for seq in 1..=5 {
        assert_eq!(client.next().await["result"]["seq"], seq);
    }
}
