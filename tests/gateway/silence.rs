//! Connections that say nothing.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{MID, Opcode, RawSocket, TestGateway};

const QUICK: [(&str, &str); 2] = [("socket.ping", "300ms"), ("socket.idle", "1s")];

#[tokio::test]
async fn neither_a_frame_nor_a_pong_closes_with_4010() {
    let gateway = TestGateway::with(&QUICK);
    let mut socket = gateway.raw(MID).await;
    let welcomed = Instant::now();
    assert_eq!(socket.close_code().await, Some(4010));
    let lived = welcomed.elapsed();
    assert!(lived > Duration::from_millis(900), "{lived:?}");
    assert!(lived < Duration::from_millis(4_000), "{lived:?}");
}

#[tokio::test]
async fn a_pong_keeps_a_silent_connection() {
    let gateway = TestGateway::with(&QUICK);
    let mut client = gateway.connect(MID).await;
    let started = Instant::now();
    // Reads, and so answers pings, far beyond the idle time.
    while started.elapsed() < Duration::from_millis(2_000) {
        let read = client.wait_for("nothing", |_| false);
        let _ = tokio::time::timeout(Duration::from_millis(100), read).await;
    }
    assert!(client.pings() >= 3, "{} pings", client.pings());
    client.still_serves().await;
}

#[tokio::test]
async fn a_frame_keeps_a_connection_that_answers_no_ping() {
    let gateway = TestGateway::with(&QUICK);
    let mut socket = gateway.raw(MID).await;
    for seq in 1..=10 {
        tokio::time::sleep(Duration::from_millis(150)).await;
        socket.text(&json!({"seq": seq, "get": {"items": []}}).to_string()).await;
        assert_eq!(socket.json().await["result"]["seq"], seq);
    }
}

#[tokio::test]
async fn a_ping_of_the_client_keeps_it_too_and_is_answered() {
    let gateway = TestGateway::with(&QUICK);
    let mut socket = gateway.raw(MID).await;
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(1_500) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        socket.write(&RawSocket::frame(0x80, Opcode::Ping, b"still here")).await;
        let pong = socket.next().await.expect("a pong");
        assert_eq!((pong.first, pong.payload.as_slice()), (0x80 | Opcode::Pong as u8, &b"still here"[..]));
    }
}

#[tokio::test]
async fn who_speaks_is_not_pinged() {
    let gateway = TestGateway::with(&[("socket.ping", "800ms"), ("socket.idle", "5s")]);
    let mut client = gateway.connect(MID).await;
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(1_500) {
        client.still_serves().await;
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert_eq!(client.pings(), 0);
}

#[tokio::test]
async fn a_request_that_never_comes_is_not_waited_for() {
    let gateway = TestGateway::with(&[("server.handshake_timeout", "300ms")]);
    for beginning in ["", "GET /v1/connect HTTP/1.1\r\nHost: here\r\n"] {
        let mut socket = RawSocket::connect(gateway.address()).await;
        let started = Instant::now();
        socket.write(beginning.as_bytes()).await;
        let answer = socket.rest().await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
        assert!(started.elapsed() < Duration::from_secs(3));
    }
}
