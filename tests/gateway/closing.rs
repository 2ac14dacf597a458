//! Regular ends of connections, and their effect on other connections.

use futures_util::future::join_all;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{MID, Opcode, RawSocket, TestGateway, Token, beat, beats, until};

#[tokio::test]
async fn a_normal_close_is_answered_in_kind() {
    let gateway = TestGateway::start();
    for code in [1000, 1001, 3000, 4999] {
        let mut client = gateway.connect(MID).await;
        assert_eq!(client.close(code).await, code);
    }
}

#[tokio::test]
async fn a_close_without_a_code_is_answered_without_one() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    client.send_message(Message::Close(None)).await;
    assert!(matches!(client.closed().await, 1000 | 1005));
}

#[tokio::test]
async fn a_close_before_the_welcome_is_answered() {
    let gateway = TestGateway::start();
    let mut client = gateway.upgrade().open().await;
    assert_eq!(client.close(1000).await, 1000);
}

#[tokio::test]
async fn the_stream_ends_after_the_close() {
    let gateway = TestGateway::start();
    let mut socket = gateway.raw(MID).await;
    socket.write(&RawSocket::frame(0x80, Opcode::Close, &1000_u16.to_be_bytes())).await;
    assert_eq!(socket.close_code().await, Some(1000));
    socket.ends().await;
}

#[tokio::test]
async fn beats_sent_before_a_close_are_stored() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.send(beats([beat(100, at)])).await;
    client.close(1001).await;
    let mut client = gateway.connect(MID).await;
    until("the position", async || client.position(100).await.is_some()).await;
}

#[tokio::test]
async fn a_connection_over_the_limit_of_its_user_closes_the_oldest_with_4004() {
    let gateway = TestGateway::with(&[("limits.connections_per_user", "2")]);
    let mut other_user = gateway.connect(43).await;
    let mut first = gateway.connect(MID).await;
    let mut second = gateway.connect(MID).await;
    let mut third = gateway.connect(MID).await;
    assert_eq!(first.closed().await, 4004);
    let mut fourth = gateway.upgrade().token_as_protocol(&Token::of(MID).sign()).welcomed().await;
    assert_eq!(second.closed().await, 4004);
    for client in [&mut third, &mut fourth, &mut other_user] {
        client.still_serves().await;
    }
}

#[tokio::test]
async fn a_connection_that_ended_makes_room_for_another() {
    let gateway = TestGateway::with(&[("limits.connections_per_user", "2")]);
    let mut first = gateway.connect(MID).await;
    for _ in 0..5 {
        let mut passing = gateway.connect(MID).await;
        passing.close(1000).await;
        gateway.wait_for_metric("heartline_connections", |open| open < 2.0).await;
    }
    first.still_serves().await;
}

#[tokio::test]
async fn a_vanished_peer_is_forgotten() {
    let gateway = TestGateway::start();
    drop(gateway.connect(MID).await);
    gateway.wait_for_metric("heartline_connections", |open| open == 0.0).await;
    assert_eq!(gateway.connect(MID).await.call(json!({"get": {"items": []}})).await["seq"], 1);
}

#[tokio::test]
async fn many_that_connect_at_once_keep_to_the_limit_of_their_user() {
    let gateway = TestGateway::with(&[("limits.connections_per_user", "5")]);
    let mut clients = join_all((0..25).map(|_| gateway.connect(MID))).await;
    gateway.wait_for_metric(r#"heartline_closes_total{code="4004"}"#, |closed| closed == 20.0).await;
    gateway.wait_for_metric("heartline_connections", |open| open == 5.0).await;
    let mut alive = 0;
    for client in &mut clients {
        let ask = json!({"seq": 1, "get": {"items": []}}).to_string();
        if client.try_send_text(&ask).await.is_ok() && client.answered_or_closed().await {
            alive += 1;
        }
    }
    assert_eq!(alive, 5);
}
