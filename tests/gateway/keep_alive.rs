//! How long an HTTP connection stays between two requests, and what it takes from others meanwhile.

use std::time::{Duration, Instant};

use crate::support::{MID, RawSocket, TestGateway};

const REQUEST: &str = "GET /nowhere HTTP/1.1\r\nHost: here\r\n\r\n";

async fn ask(socket: &mut RawSocket) {
    socket.try_write(REQUEST.as_bytes()).await;
    let head = socket.head_of_answer().await;
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    socket.read(length.expect("a length")).await;
}

/// How long the connection stays when it says nothing more.
async fn stays(socket: &mut RawSocket) -> Duration {
    let started = Instant::now();
    assert_eq!(socket.rest().await, "");
    started.elapsed()
}

#[tokio::test]
async fn a_connection_between_requests_outlives_the_handshake() {
    let gateway = TestGateway::with(&[("server.handshake_timeout", "300ms")]);
    let mut socket = RawSocket::connect(gateway.address()).await;
    ask(&mut socket).await;
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    ask(&mut socket).await;
    let mut silent = RawSocket::connect(gateway.address()).await;
    assert!(stays(&mut silent).await < Duration::from_secs(3), "it never sent a request");
}

#[tokio::test]
async fn it_stays_as_long_as_the_setting_says() {
    let settings = [("server.keep_alive", "700ms"), ("server.request_timeout", "100ms")];
    let gateway = TestGateway::with(&settings);
    for beginning in ["", "GET /nowhere HTTP/1.1\r\nHo"] {
        let mut socket = RawSocket::connect(gateway.address()).await;
        for _ in 0..3 {
            ask(&mut socket).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        socket.write(beginning.as_bytes()).await;
        let stays = stays(&mut socket).await;
        assert!((Duration::from_millis(200)..Duration::from_secs(4)).contains(&stays), "{stays:?}");
    }
    assert_eq!(gateway.metric("heartline_refused_total{reason=\"SlowRequest\"}").await, 0.0);
}

#[tokio::test]
async fn idle_connections_take_no_handshake_places() {
    for place in ["limits.handshakes", "limits.handshakes_per_address"] {
        let gateway = TestGateway::with(&[(place, "2")]);
        let mut idle = Vec::new();
        for _ in 0..2 {
            let mut socket = RawSocket::connect(gateway.address()).await;
            ask(&mut socket).await;
            idle.push(socket);
        }
        gateway.connect(MID).await.still_serves().await;
        // There are as many places again for those that stay. A further one is served, and closed after its answer.
        let mut third = RawSocket::connect(gateway.address()).await;
        third.write(REQUEST.as_bytes()).await;
        let answer = third.rest().await;
        assert!(answer.starts_with("HTTP/1.1 404 ") && answer.to_lowercase().contains("connection: close"), "{answer}");
        for socket in &mut idle {
            ask(socket).await;
        }
        drop(idle.pop());
        tokio::time::sleep(Duration::from_millis(100)).await;
        let mut fourth = RawSocket::connect(gateway.address()).await;
        ask(&mut fourth).await;
        ask(&mut fourth).await;
    }
}
