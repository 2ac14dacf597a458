//! Three broken frames in a row end a connection; fewer, or not in a row, do not.

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, beat, beats};

fn broken() -> Value {
    json!({"get": {"items": 5}})
}

fn too_many() -> Value {
    beats((0..501).map(|oid| beat(oid, 1)))
}

async fn code(client: &mut TestClient, frame: Value) -> String {
    client.refused(frame).await["code"].as_str().expect("a code").to_owned()
}

#[tokio::test]
async fn the_third_invalid_frame_in_a_row_is_answered_and_closes_with_4000() {
    let gateway = TestGateway::start();
    let mut bystander = gateway.connect(MID).await;
    let mut client = gateway.connect(MID).await;
    for _ in 0..3 {
        assert_eq!(code(&mut client, broken()).await, "invalid");
    }
    assert_eq!(client.closed().await, 4000);
    bystander.still_serves().await;
}

#[tokio::test]
async fn a_too_many_error_counts_like_an_invalid_frame() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    assert_eq!(code(&mut client, too_many()).await, "too_many");
    assert_eq!(code(&mut client, broken()).await, "invalid");
    assert_eq!(code(&mut client, too_many()).await, "too_many");
    assert_eq!(client.closed().await, 4000);
}

#[tokio::test]
async fn frames_without_a_readable_seq_count() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    for _ in 0..3 {
        client.send_text("not JSON").await;
        assert_eq!(client.error().await["code"], "invalid");
    }
    assert_eq!(client.closed().await, 4000);
}

#[tokio::test]
async fn a_good_frame_resets_the_count() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    for _ in 0..3 {
        code(&mut client, broken()).await;
        code(&mut client, broken()).await;
        client.still_serves().await;
    }
    code(&mut client, broken()).await;
    code(&mut client, broken()).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    code(&mut client, broken()).await;
    client.still_serves().await;
}

#[tokio::test]
async fn other_errors_neither_count_nor_reset_the_count() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    for _ in 0..5 {
        assert_eq!(code(&mut client, json!({"salute": {}})).await, "unknown_operation");
        let renewal = json!({"token": {"token": "bad"}});
        assert_eq!(code(&mut client, renewal).await, "unauthorized");
    }
    code(&mut client, broken()).await;
    code(&mut client, json!({"salute": {}})).await;
    code(&mut client, broken()).await;
    code(&mut client, json!({"token": {"token": "bad"}})).await;
    code(&mut client, broken()).await;
    assert_eq!(client.closed().await, 4000);
}

#[tokio::test]
async fn a_rejected_beat_is_no_broken_frame() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    for _ in 0..5 {
        let at = client.now();
        assert_eq!(client.beats([beat(100, at).with("rate", 99)]).await.len(), 1);
    }
    client.still_serves().await;
}

#[tokio::test]
async fn beats_sent_before_the_third_invalid_frame_are_kept() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    let seq = client.send(beats([beat(100, at)])).await;
    client.acked(seq).await;
    for _ in 0..3 {
        client.send(broken()).await;
    }
    assert_eq!(client.closed().await, 4000);
    assert_eq!(gateway.connect(MID).await.position(100).await, Some(10_000));
}

#[tokio::test]
async fn three_invalid_frames_before_the_welcome_close_with_4000() {
    let gateway = TestGateway::start();
    let mut client = gateway.upgrade().open().await;
    for seq in 1..=3 {
        client.send_as(seq, json!({"hello": {"token": 5}})).await;
    }
    assert_eq!(client.closed().await, 4000);
    let errors = client.frames_kept();
    assert_eq!(errors.iter().filter(|frame| frame["error"]["code"] == "invalid").count(), 3);
}
