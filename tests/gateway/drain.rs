//! SIGTERM: everything received is committed and acked, then bye, then 1012.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{MID, NEVER, RawSocket, TestGateway, Token, beat, beats};

/// No timer ends what would hold the drain, and neither does the drain's own.
const PATIENT: [(&str, &str); 4] = [
    ("server.drain_timeout", NEVER),
    ("server.handshake_timeout", NEVER),
    ("server.request_timeout", NEVER),
    ("server.keep_alive", NEVER),
];

#[tokio::test]
async fn a_drain_says_bye_and_closes_with_1012() {
    let mut gateway = TestGateway::start();
    let mut clients = [gateway.connect(1).await, gateway.connect(2).await, gateway.connect(3).await];
    gateway.terminate();
    for client in &mut clients {
        let bye = client.next().await;
        assert_eq!(bye["bye"]["reason"], "drain", "{bye}");
        let after = bye["bye"]["reconnect_after"].as_u64().expect("reconnect_after");
        assert!((200..=10_000).contains(&after), "{after}");
        assert_eq!(client.closed().await, 1012);
    }
    assert!(gateway.ended().await.success());
}

#[tokio::test]
async fn reconnects_are_spread() {
    let gateway = TestGateway::start();
    let mut clients = Vec::new();
    for mid in 0..10 {
        clients.push(gateway.connect(mid).await);
    }
    gateway.terminate();
    let mut after = Vec::new();
    for client in &mut clients {
        after.push(client.next().await["bye"]["reconnect_after"].as_u64().expect("reconnect_after"));
    }
    after.sort_unstable();
    after.dedup();
    assert!(after.len() > 5, "{after:?}");
}

#[tokio::test]
async fn frames_received_before_the_drain_are_acked_and_kept() {
    let mut gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    // The number of a frame is also what it watches.
    for seq in 1..=40 {
        client.send(beats((0..50).map(|part| beat(seq * 100 + part, at)))).await;
    }
    // Answered, so all before it was received.
    client.call(json!({"get": {"items": []}})).await;
    for seq in 42..=60 {
        client.send(beats([beat(seq * 100, at)])).await;
    }
    gateway.terminate();
    assert_eq!(client.closed().await, 1012);
    let frames = client.frames_kept();
    let ack = |frame: &Value| frame["ack"]["seq"].as_u64();
    let acked = frames.iter().filter_map(ack).max().expect("an ack");
    assert!(acked >= 40, "{acked}");
    let bye = frames.iter().position(|frame| frame["bye"].is_object()).expect("a bye");
    assert_eq!(bye, frames.len() - 1, "nothing comes after the bye");
    assert!(gateway.ended().await.success());

    gateway.restart();
    let mut client = gateway.connect(MID).await;
    for seq in (1..=acked).filter(|seq| *seq != 41) {
        assert_eq!(client.position(seq * 100).await, Some(10_000), "frame {seq} was acked");
    }
}

#[tokio::test]
async fn frames_that_arrive_after_the_bye_are_not_acked() {
    let mut gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    gateway.terminate();
    assert!(client.next().await["bye"].is_object());
    let mut late = beats([beat(100, at)]);
    late["seq"] = json!(1);
    let _ = client.try_send_text(&late.to_string()).await;
    assert_eq!(client.closed().await, 1012);
    assert!(client.frames_kept().is_empty());
    gateway.ended().await;
    gateway.restart();
    assert_eq!(gateway.connect(MID).await.record(100).await, Value::Null);
}

/// What a newcomer reads, if it still gets so far: the listeners close one by one.
async fn answer_to_an_upgrade(gateway: &TestGateway) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(gateway.address()).await?;
    let token = Token::of(MID).sign();
    let request = format!(
        "GET /v1/connect HTTP/1.1\r\nhost: gateway\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\
         authorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = vec![0; 64];
    let read = stream.read(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer[..read]).into_owned())
}

#[tokio::test]
async fn a_draining_gateway_accepts_no_connection() {
    let mut gateway = TestGateway::with(&PATIENT);
    // Does not close of itself, so the drain lasts.
    let mut holder = gateway.raw(MID).await;
    gateway.terminate();
    assert_eq!(holder.json().await["bye"]["reason"], "drain");
    let answer = answer_to_an_upgrade(&gateway).await.unwrap_or_default();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 503"), "{answer}");
    drop(holder);
    gateway.ended().await;
}

#[tokio::test]
async fn a_client_that_never_closes_does_not_hold_the_drain() {
    let mut gateway = TestGateway::with(&[("server.drain_timeout", "2s")]);
    let mut silent = gateway.raw(MID).await;
    gateway.terminate();
    assert!(gateway.ended().await.success());
    assert_eq!(silent.close_code().await, Some(1012));
}

#[tokio::test]
async fn a_socket_without_a_hello_is_closed_by_a_drain_too() {
    let mut gateway = TestGateway::start();
    let mut client = gateway.upgrade().open().await;
    gateway.terminate();
    assert_eq!(client.closed().await, 1012);
    assert!(gateway.ended().await.success());
}

#[tokio::test]
async fn a_drain_without_clients_ends_at_once() {
    let mut gateway = TestGateway::with(&PATIENT);
    gateway.terminate();
    assert!(gateway.ended().await.success());
    assert!(TcpStream::connect(gateway.address()).await.is_err());
}

#[tokio::test]
async fn a_lame_duck_is_not_ready_and_serves_on() {
    let mut gateway = TestGateway::with(&[("server.lame_duck", NEVER)]);
    let mut early = gateway.connect(1).await;
    gateway.terminate();
    gateway.wait_for_drain().await;
    let answer = gateway.admin().get("/readyz").await;
    assert_eq!((answer.status, answer.text()), (503, r#"{"ready":false,"reasons":["draining"]}"#));
    let mut late = gateway.connect(2).await;
    let at = late.now();
    for client in [&mut early, &mut late] {
        client.watch([beat(100, at)]).await;
        assert_eq!(client.position(100).await, Some(10_000));
    }
    gateway.terminate();
    assert_eq!(gateway.ended().await.code(), Some(143), "a second signal ends it at once");
}

#[tokio::test]
async fn a_lame_duck_drains_when_its_time_is_over() {
    let lame_duck = Duration::from_millis(700);
    let mut gateway = TestGateway::with(&[("server.lame_duck", "700ms")]);
    let mut client = gateway.connect(MID).await;
    let began = Instant::now();
    gateway.terminate();
    assert_eq!(client.next().await["bye"]["reason"], "drain");
    assert!(began.elapsed() >= lame_duck, "{:?}", began.elapsed());
    assert_eq!(client.closed().await, 1012);
    assert!(gateway.ended().await.success());
    assert!(gateway.log().contains("event=\"lame_duck\""), "{}", gateway.log());
}

#[tokio::test]
async fn a_second_signal_does_no_harm() {
    let mut gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    gateway.terminate();
    gateway.terminate();
    gateway.ended().await;
    gateway.restart();
    assert_eq!(gateway.connect(MID).await.position(100).await, Some(10_000));
}

#[tokio::test]
async fn a_client_that_never_stops_sending_is_closed_by_a_drain_too() {
    let mut gateway = TestGateway::with(&[("limits.frames_per_second", "2000"), ("limits.burst", "2000")]);
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    gateway.terminate();
    for seq in 1..2_000 {
        let mut frame = beats([beat(seq, at)]);
        frame["seq"] = json!(seq);
        if client.try_send_text(&frame.to_string()).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(client.closed().await, 1012);
    assert!(client.frames_kept().iter().any(|frame| frame["bye"]["reason"] == "drain"));
    assert!(gateway.ended().await.success());
}

#[tokio::test]
async fn an_idle_http_connection_does_not_hold_the_drain() {
    let mut gateway = TestGateway::with(&PATIENT);
    let mut socket = RawSocket::connect(gateway.address()).await;
    socket.write(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").await;
    assert!(socket.head_of_answer().await.starts_with("HTTP/1.1 200 "));
    gateway.terminate();
    assert!(gateway.ended().await.success());
}

/// A connection that never says the rest of what it began to say.
async fn holds_no_drain(begun: &str, settings: &[(&str, &str)]) {
    // One thread accepts them in their order: what comes after it is answered after it was accepted.
    let mut gateway = TestGateway::with(&[&PATIENT[..], &[("server.threads", "1")], settings].concat());
    let mut socket = RawSocket::connect(gateway.address()).await;
    socket.write(begun.as_bytes()).await;
    RawSocket::connect(gateway.address()).await.ask_for_upgrade(None).await;
    gateway.terminate();
    assert!(gateway.ended().await.success(), "{begun:?}");
}

/// A request whose body is asked for: it has begun.
async fn begun_request(gateway: &TestGateway, path: &str, length: usize) -> RawSocket {
    let token = Token::of(MID).sign();
    let head = format!(
        "{path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {token}\r\nExpect: 100-continue\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    let mut socket = RawSocket::connect(gateway.address()).await;
    socket.write(head.as_bytes()).await;
    assert!(socket.head_of_answer().await.starts_with("HTTP/1.1 100 "), "{path}");
    socket
}

#[tokio::test]
async fn a_half_sent_body_does_not_hold_the_drain() {
    for path in ["POST /v1/beats", "POST /v1/history/get", "PUT /v1/recording"] {
        let mut gateway = TestGateway::with(&PATIENT);
        let mut socket = begun_request(&gateway, path, 1_000).await;
        socket.write(b"{\"items\":[").await;
        gateway.terminate();
        assert!(gateway.ended().await.success(), "{path}");
        let answer = socket.rest().await;
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("/problems/unavailable"), "{path}: {answer}");
        assert!(answer.to_lowercase().contains("retry-after: "), "{path}: {answer}");
    }
}

#[tokio::test]
async fn a_body_that_arrives_during_the_drain_is_committed_and_answered() {
    let mut gateway = TestGateway::with(&PATIENT);
    let at = gateway.connect(MID).await.now();
    let body = json!({"items": [beat(100, at).json()]}).to_string();
    let (first, rest) = body.split_at(20);
    let mut socket = begun_request(&gateway, "POST /v1/beats", body.len()).await;
    socket.write(first.as_bytes()).await;
    gateway.terminate();
    gateway.wait_for_drain().await;
    socket.write(rest.as_bytes()).await;
    assert!(socket.head_of_answer().await.starts_with("HTTP/1.1 200 "));
    gateway.ended().await;
    gateway.restart();
    assert_eq!(gateway.connect(MID).await.position(100).await, Some(10_000));
}

#[tokio::test]
async fn a_half_sent_head_does_not_hold_the_drain() {
    holds_no_drain("POST /v1/beats HTTP/1.1\r\nHost: he", &[]).await;
    holds_no_drain("", &[]).await;
}

#[tokio::test]
async fn a_half_sent_proxy_header_does_not_hold_the_drain() {
    let behind_a_proxy = [("server.trusted_proxies", r#"["127.0.0.0/8"]"#), ("server.proxy_protocol", "true")];
    holds_no_drain("PROXY TCP4 192.0", &behind_a_proxy).await;
}
