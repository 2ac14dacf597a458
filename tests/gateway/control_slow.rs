//! A client that is slow, or many of them, hold up neither the probes nor the users nor the control listener.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Instant;

use futures_util::future::{join, join_all};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{CONTROL_TOKEN, MID, TestGateway, in_time};

/// More than the listeners take at a time.
const CONTROL_CROWD: usize = 100;
const PROBE_CROWD: usize = 1_100;
/// A busy machine may need longer to make the crowds than they last.
const ATTEMPTS: usize = 5;

async fn sent(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a listener");
    stream.write_all(text.as_bytes()).await.expect("room");
    stream
}

/// What is answered until the gateway closes the connection, and when that was.
async fn until_closed(mut stream: TcpStream) -> (String, Instant) {
    let mut answer = Vec::new();
    // A reset is an end like any other.
    let _ = in_time("the end of the connection", stream.read_to_end(&mut answer)).await;
    (String::from_utf8_lossy(&answer).into_owned(), Instant::now())
}

/// Whether the gateway keeps it open, and has said nothing.
fn is_kept(stream: &TcpStream) -> bool {
    stream.try_read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[tokio::test]
async fn slow_heads_and_bodies_are_cut_off() {
    let gateway = TestGateway::start();
    let (admin, control) = (gateway.admin_address(), gateway.control_address());
    let head = format!("POST /v1/kick HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {CONTROL_TOKEN}\r\n");
    let body = format!("{head}content-length: 12\r\n\r\n{{\"mid\"");
    let nothing = [sent(admin, "").await, sent(control, "").await];
    let heads = [sent(admin, "GET /healthz HTTP/1.1\r\n").await, sent(control, &head).await];
    let body = sent(control, &body).await;
    let without_head = join_all(nothing.into_iter().chain(heads).map(until_closed));
    let (without_head, (answer, body_ended)) = join(without_head, until_closed(body)).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    for (answer, ended) in without_head {
        assert!(!answer.contains(" 200 ") && !answer.contains(" 204 "), "{answer}");
        assert!(ended < body_ended, "a head may take as long as a body");
    }
}

/// More than the listener has slots, so that some are closed before they have sent anything.
async fn crowd(address: SocketAddr, count: usize, text: &str) -> Vec<TcpStream> {
    let mut crowd = Vec::new();
    for _ in 0..count {
        let mut stream = TcpStream::connect(address).await.expect("a listener");
        let _ = stream.write_all(text.as_bytes()).await;
        crowd.push(stream);
    }
    crowd
}

#[tokio::test]
async fn idle_connections_lock_out_no_operator_and_slow_no_user() {
    rlimit::increase_nofile_limit(1 << 14).expect("enough files");
    for _ in 0..ATTEMPTS {
        if served_beside_crowds().await {
            return;
        }
    }
    panic!("no request is answered before the crowds are cut off");
}

/// Whether all are served while the crowds are there, which the gateway cuts off after a while.
async fn served_beside_crowds() -> bool {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let half_a_head = "GET /v1/events HTTP/1.1\r\nhost: localhost\r\n";
    let (control, admin) = (gateway.control_address(), gateway.admin_address());
    let mut crowds = crowd(control, CONTROL_CROWD, half_a_head).await;
    crowds.extend(crowd(control, CONTROL_CROWD, "").await);
    crowds.extend(crowd(admin, PROBE_CROWD, "").await);
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(gateway.admin().get(path).await.status, 200, "{path}");
    }
    assert_eq!(gateway.control().get("/v1/events").await.status, 200);
    client.still_serves().await;
    let there = crowds.iter().any(is_kept);
    join_all(crowds.into_iter().map(until_closed)).await;
    there
}

#[tokio::test]
async fn a_request_head_that_is_too_long_is_refused_with_431() {
    let gateway = TestGateway::start();
    let header = format!("x: {}\r\n", "x".repeat(60_000));
    for address in [gateway.admin_address(), gateway.control_address()] {
        let long = sent(address, &format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{header}\r\n")).await;
        let (answer, _) = until_closed(long).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
}
