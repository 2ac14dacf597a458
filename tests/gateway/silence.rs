//! Silent connections.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{MID, NEVER, Opcode, RawSocket, TestGateway};

/// For clients that must be in time: several pings long.
const PATIENT: [(&str, &str); 2] = [("socket.ping", "300ms"), ("socket.idle", "3s")];
/// Longer than those may be silent.
const LONG: Duration = Duration::from_millis(3_500);

#[tokio::test]
async fn neither_a_frame_nor_a_pong_closes_with_4010() {
    let gateway = TestGateway::with(&[("socket.ping", "300ms"), ("socket.idle", "1s")]);
    let connects = Instant::now();
    let mut socket = gateway.raw(MID).await;
    assert_eq!(socket.close_code().await, Some(4010));
    assert!(connects.elapsed() >= Duration::from_secs(1), "{:?}", connects.elapsed());
}

#[tokio::test]
async fn a_pong_keeps_a_silent_connection() {
    let gateway = TestGateway::with(&PATIENT);
    let mut client = gateway.connect(MID).await;
    let started = Instant::now();
    // Reads, and so answers pings.
    while started.elapsed() < LONG {
        let read = client.wait_for("nothing", |_| false);
        let _ = tokio::time::timeout(Duration::from_millis(100), read).await;
    }
    assert!(client.pings() >= 3, "{} pings", client.pings());
    client.still_serves().await;
}

#[tokio::test]
async fn a_frame_keeps_a_connection_that_answers_no_ping() {
    let gateway = TestGateway::with(&PATIENT);
    let mut socket = gateway.raw(MID).await;
    let started = Instant::now();
    for seq in 1.. {
        if started.elapsed() > LONG {
            break;
        }
        tokio::time::sleep(Duration::from_millis(150)).await;
        socket.text(&json!({"seq": seq, "get": {"items": []}}).to_string()).await;
        assert_eq!(socket.json().await["result"]["seq"], seq);
    }
}

#[tokio::test]
async fn a_ping_of_the_client_keeps_its_connection_and_is_answered() {
    let gateway = TestGateway::with(&PATIENT);
    let mut socket = gateway.raw(MID).await;
    let started = Instant::now();
    while started.elapsed() < LONG {
        tokio::time::sleep(Duration::from_millis(100)).await;
        socket.write(&RawSocket::frame(0x80, Opcode::Ping, b"still here")).await;
        let mut pong = socket.next().await.expect("a pong");
        // Where this machine was late, the gateway has asked first.
        while pong.first == 0x80 | Opcode::Ping as u8 {
            pong = socket.next().await.expect("a pong");
        }
        assert_eq!((pong.first, pong.payload.as_slice()), (0x80 | Opcode::Pong as u8, &b"still here"[..]));
    }
}

#[tokio::test]
async fn a_client_that_sends_is_not_pinged() {
    let gateway = TestGateway::with(&[("socket.ping", "3s"), ("socket.idle", "1m")]);
    let mut client = gateway.connect(MID).await;
    let started = Instant::now();
    while started.elapsed() < LONG {
        client.still_serves().await;
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert_eq!(client.pings(), 0);
}

#[tokio::test]
async fn a_connection_without_a_request_is_closed_after_the_timeout() {
    let gateway = TestGateway::with(&[("server.handshake_timeout", "300ms"), ("server.request_timeout", NEVER)]);
    for beginning in ["", "GET /v1/connect HTTP/1.1\r\nHost: here\r\n"] {
        let mut socket = RawSocket::connect(gateway.address()).await;
        socket.write(beginning.as_bytes()).await;
        let answer = socket.rest().await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
}
