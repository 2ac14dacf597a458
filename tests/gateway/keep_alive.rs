//! HTTP connections between two requests: how long they stay open, and which slots they take.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::support::{MID, NEVER, RawSocket, TestGateway, until};

const REQUEST: &str = "GET /nowhere HTTP/1.1\r\nHost: here\r\n\r\n";

/// Reads the whole answer, and returns its head in lower case.
async fn ask(socket: &mut RawSocket) -> String {
    socket.try_write(REQUEST.as_bytes()).await;
    let head = socket.head_of_answer().await.to_lowercase();
    assert!(head.starts_with("http/1.1 404 "), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    socket.read(length.expect("a length")).await;
    head
}

#[tokio::test]
async fn a_connection_between_requests_outlives_the_handshake() {
    let settings =
        [("server.handshake_timeout", "2s"), ("server.request_timeout", NEVER), ("server.keep_alive", NEVER)];
    let gateway = TestGateway::with(&settings);
    let mut socket = RawSocket::connect(gateway.address()).await;
    ask(&mut socket).await;
    // One that never sends a request does not: it came later and ends first.
    let mut silent = RawSocket::connect(gateway.address()).await;
    assert_eq!(silent.rest().await, "");
    ask(&mut socket).await;
}

#[tokio::test]
async fn an_idle_connection_stays_open_for_the_configured_keep_alive() {
    const KEEP_ALIVE: Duration = Duration::from_secs(3);
    // Between two requests none is slow.
    let settings = [("server.keep_alive", "3s"), ("server.request_timeout", "1s")];
    let gateway = TestGateway::with(&settings);
    let stays = ["", "GET /nowhere HTTP/1.1\r\nHo"].map(async |beginning| {
        let mut socket = RawSocket::connect(gateway.address()).await;
        ask(&mut socket).await;
        tokio::time::sleep(KEEP_ALIVE / 2).await;
        let asks = Instant::now();
        ask(&mut socket).await;
        socket.write(beginning.as_bytes()).await;
        assert_eq!(socket.rest().await, "");
        assert!(asks.elapsed() >= KEEP_ALIVE, "{:?}", asks.elapsed());
    });
    join_all(stays).await;
    assert_eq!(gateway.metric("heartline_refused_total{reason=\"slow_request\"}").await, 0.0);
}

#[tokio::test]
async fn idle_connections_take_no_handshake_slots() {
    for place in ["limits.handshakes", "limits.handshakes_per_address"] {
        let gateway = TestGateway::with(&[(place, "2")]);
        let mut idle = Vec::new();
        for _ in 0..2 {
            let mut socket = RawSocket::connect(gateway.address()).await;
            ask(&mut socket).await;
            idle.push(socket);
        }
        gateway.connect(MID).await.still_serves().await;
        // There are as many slots again for those that stay. A further one is served, and closed after its answer.
        let mut third = RawSocket::connect(gateway.address()).await;
        third.write(REQUEST.as_bytes()).await;
        let answer = third.rest().await;
        assert!(answer.starts_with("HTTP/1.1 404 ") && answer.to_lowercase().contains("connection: close"), "{answer}");
        for socket in &mut idle {
            ask(socket).await;
        }
        drop(idle.pop());
        // Its slot is given back a moment later.
        let stays = async || {
            let mut fourth = RawSocket::connect(gateway.address()).await;
            let stays = !ask(&mut fourth).await.contains("connection: close");
            if stays {
                ask(&mut fourth).await;
            }
            stays
        };
        until("a slot to stay", stays).await;
    }
}
