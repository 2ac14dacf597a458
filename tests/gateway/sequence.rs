//! The numbers of a connection's frames.

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, Token, beat, beats};

fn nothing() -> Value {
    json!({"get": {"items": []}})
}

async fn invalid_seq(client: &mut TestClient) -> Value {
    let error = client.error().await;
    let path = error["message"].as_str().and_then(|text| text.split(": ").next());
    assert_eq!((error["code"].as_str(), path), (Some("invalid"), Some("seq")), "{error}");
    error
}

#[tokio::test]
async fn gaps_in_seq_are_accepted() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    for seq in [3, 4, 1_000, 4_000_000_000] {
        client.send_as(seq, nothing()).await;
        client.answer(seq).await;
    }
}

#[tokio::test]
async fn a_repeat_or_a_smaller_one_is_invalid_at_seq() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    client.send_as(5, nothing()).await;
    client.answer(5).await;
    for seq in [5, 4] {
        client.send_as(seq, nothing()).await;
        assert_eq!(invalid_seq(&mut client).await["seq"], seq);
    }
    client.send_as(6, nothing()).await;
    client.answer(6).await;
}

#[tokio::test]
async fn zero_is_invalid_at_seq() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    client.send_as(0, nothing()).await;
    invalid_seq(&mut client).await;
    client.send_as(1, nothing()).await;
    client.answer(1).await;
}

#[tokio::test]
async fn a_seq_that_cannot_be_read_is_invalid_and_not_repeated() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    for seq in ["null", r#""1""#, "-1", "1.5", "4294967296", "true", "[1]", "1e40"] {
        client.send_text(&format!(r#"{{"seq":{seq},"get":{{"items":[]}}}}"#)).await;
        assert_eq!(invalid_seq(&mut client).await.get("seq"), None, "{seq}");
        client.still_serves().await;
    }
    client.send_text(r#"{"get":{"items":[]}}"#).await;
    assert_eq!(invalid_seq(&mut client).await.get("seq"), None);
}

#[tokio::test]
async fn no_part_of_a_frame_with_a_wrong_seq_is_applied() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.send_as(5, nothing()).await;
    client.send_as(5, beats([beat(100, at)])).await;
    invalid_seq(&mut client).await;
    client.send_as(6, nothing()).await;
    assert_eq!(client.record(100).await, Value::Null);
}

#[tokio::test]
async fn the_seq_of_a_refused_frame_is_used_up() {
    let gateway = TestGateway::start();
    for refused in [json!({"get": 5}), json!({"salute": {}}), json!({"token": {"token": "bad"}})] {
        let mut client = gateway.connect(MID).await;
        client.send_as(5, refused).await;
        assert!(client.answer(5).await["error"].is_object());
        client.send_as(5, nothing()).await;
        assert_eq!(invalid_seq(&mut client).await["seq"], 5);
    }
}

#[tokio::test]
async fn every_connection_counts_for_itself() {
    let gateway = TestGateway::start();
    let mut one = gateway.connect(MID).await;
    one.send_as(100, nothing()).await;
    one.answer(100).await;
    gateway.connect(MID).await.still_serves().await;
}

#[tokio::test]
async fn after_the_last_seq_the_socket_ends_with_bye_and_1012() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.send_as(u32::MAX, beats([beat(100, at)])).await;
    client.acked(u32::MAX).await;
    let bye = client.next().await;
    assert_eq!(bye["bye"]["reason"], "seq", "{bye}");
    assert!(bye["bye"]["reconnect_after"].is_u64(), "{bye}");
    assert_eq!(client.closed().await, 1012);
    assert_eq!(gateway.connect(MID).await.position(100).await, Some(10_000));
}

#[tokio::test]
async fn a_hello_with_the_last_seq_is_welcomed_and_that_is_all() {
    let gateway = TestGateway::start();
    let mut client = gateway.upgrade().open().await;
    client.send_as(u32::MAX, json!({"hello": {"token": Token::of(MID).sign()}})).await;
    assert!(client.next().await["welcome"].is_object());
    assert_eq!(client.next().await["bye"]["reason"], "seq");
    assert_eq!(client.closed().await, 1012);
}

#[tokio::test]
async fn the_last_seq_is_answered_before_the_bye() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    client.send_as(u32::MAX, nothing()).await;
    assert!(client.next().await["result"].is_object());
    assert_eq!(client.next().await["bye"]["reason"], "seq");
    assert_eq!(client.closed().await, 1012);
}

#[tokio::test]
async fn a_last_seq_that_is_refused_ends_the_socket_as_well() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    client.send_as(u32::MAX, json!({"salute": {}})).await;
    assert_eq!(client.next().await["error"]["code"], "unknown_operation");
    assert_eq!(client.next().await["bye"]["reason"], "seq");
    assert_eq!(client.closed().await, 1012);
}
