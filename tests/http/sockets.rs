//! Sockets over a store that does not answer: nothing is acked, and no client waits for ever.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::beat;
use super::faulty::Fault;
use super::fixture::Fixture;

pub type Socket = WebSocketStream<TcpStream>;

pub async fn connect(address: SocketAddr, token: &str) -> Socket {
    connect_with(address, &[("authorization", &format!("Bearer {token}"))]).await
}

pub async fn connect_with(address: SocketAddr, headers: &[(&'static str, &str)]) -> Socket {
    let mut request = format!("ws://{address}/v1/connect").into_client_request().expect("a request");
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().expect("a header"));
    }
    let stream = TcpStream::connect(address).await.expect("the gateway listens");
    tokio_tungstenite::client_async(request, stream).await.expect("an upgrade").0
}

async fn welcomed(address: SocketAddr, token: &str) -> Socket {
    let mut socket = connect(address, token).await;
    assert!(received(&mut socket).await["welcome"].is_object());
    socket
}

pub async fn send(socket: &mut Socket, frame: Value) {
    socket.send(Message::text(frame.to_string())).await.expect("sent");
}

pub async fn received(socket: &mut Socket) -> Value {
    let message = socket.next().await.expect("a message").expect("no error");
    serde_json::from_str(message.to_text().expect("text")).expect("JSON")
}

#[tokio::test]
async fn a_socket_that_cannot_be_welcomed_is_closed_with_1013() {
    let serve = async {
        let fixture = Fixture::with_dead_store();
        let mut socket = connect(fixture.listen().await, &fixture.token).await;
        match socket.next().await {
            Some(Ok(Message::Close(Some(frame)))) => assert_eq!(u16::from(frame.code), 1013),
            other => panic!("not a close: {other:?}"),
        }
    };
    LocalSet::new().run_until(serve).await;
}

#[tokio::test]
async fn without_the_store_operations_are_unavailable_and_beats_wait() {
    let serve = async {
        let fixture = Fixture::new();
        let mut socket = welcomed(fixture.listen().await, &fixture.token).await;
        fixture.lose_the_store();
        let items = json!([{"kind": 1, "oid": "100"}]);
        for (seq, operation) in [
            (1, json!({"get": {"items": items}})),
            (2, json!({"list": {}})),
            (3, json!({"delete": {"items": items, "at": fixture.now()}})),
        ] {
            let mut frame = operation;
            frame["seq"] = json!(seq);
            send(&mut socket, frame).await;
            let error = received(&mut socket).await["error"].take();
            assert_eq!((&error["seq"], &error["code"]), (&json!(seq), &json!("unavailable")), "{error}");
            assert_eq!(error["retry"], true);
        }
        // A beat is neither acked nor refused; what comes after it is told to try again.
        send(&mut socket, json!({"seq": 4, "beats": {"items": [beat(&fixture, 100, 0, "playing")]}})).await;
        send(&mut socket, json!({"seq": 5, "get": {"items": items}})).await;
        let answer = received(&mut socket).await;
        assert_eq!(answer["error"]["seq"], 5, "{answer}");
    };
    LocalSet::new().run_until(serve).await;
}

#[tokio::test]
async fn a_renewal_in_time_counts_even_behind_a_slow_operation() {
    let serve = async {
        let fixture = Fixture::new();
        let mut socket = welcomed(fixture.listen().await, &fixture.expired_token()).await;
        let end = Instant::now() + Duration::from_secs(5);
        tokio::time::sleep_until((end - Duration::from_secs(2)).into()).await;
        fixture.store.turn(Fault::Away);
        let items = json!([{"kind": 1, "oid": "100"}]);
        send(&mut socket, json!({"seq": 1, "delete": {"items": items, "at": fixture.now()}})).await;
        send(&mut socket, json!({"seq": 2, "token": {"token": fixture.token}})).await;
        tokio::time::sleep_until((end + Duration::from_secs(1)).into()).await;
        fixture.store.turn(Fault::None);
        assert_eq!(received(&mut socket).await["result"]["seq"], 1);
        assert!(received(&mut socket).await["result"]["expires"].is_u64());
        send(&mut socket, json!({"seq": 3, "get": {"items": items}})).await;
        assert_eq!(received(&mut socket).await["result"]["seq"], 3);
    };
    LocalSet::new().run_until(serve).await;
}

#[tokio::test]
async fn a_busy_socket_is_closed_with_4002_once_its_token_has_expired() {
    let serve = async {
        let fixture = Fixture::new();
        let mut socket = welcomed(fixture.listen().await, &fixture.expired_token()).await;
        fixture.lose_the_store();
        for seq in 1..7 {
            send(&mut socket, json!({"seq": seq, "list": {}})).await;
        }
        // Each is waited for 3 s. The second lasts beyond the end at 5 s, the third was there by then.
        for seq in 1..4 {
            assert_eq!(received(&mut socket).await["error"]["seq"], seq);
        }
        match socket.next().await {
            Some(Ok(Message::Close(Some(frame)))) => assert_eq!(u16::from(frame.code), 4002),
            other => panic!("not a close: {other:?}"),
        }
    };
    LocalSet::new().run_until(serve).await;
}

/// Longer than a frame that waits for no other.
fn long(mut frame: Value, operation: &str) -> Value {
    frame[operation]["padding"] = json!("x".repeat(9_000));
    frame
}

#[tokio::test]
async fn a_long_frame_that_has_no_beats_does_not_wait_for_the_beats_of_others_for_ever() {
    let serve = async {
        let fixture = Fixture::new();
        let address = fixture.listen().await;
        let (mut one, mut other) = (welcomed(address, &fixture.token).await, welcomed(address, &fixture.token).await);
        fixture.store.turn(Fault::Away);
        let beats =
            |seq, oid| long(json!({"seq": seq, "beats": {"items": [beat(&fixture, oid, 0, "playing")]}}), "beats");
        send(&mut one, beats(1, 100)).await;
        let asked = Instant::now();
        let items = json!([{"kind": 1, "oid": "100"}]);
        send(&mut other, long(json!({"seq": 1, "get": {"items": items}}), "get")).await;
        assert_eq!(received(&mut other).await["result"], json!({"seq": 1, "records": [null]}));
        assert!(asked.elapsed() > Duration::from_secs(4), "it has waited for its turn");
        // What is done gives the turn back, and so does what waits no more.
        send(&mut other, beats(2, 200)).await;
        fixture.store.turn(Fault::None);
        let acked = async { (received(&mut one).await["ack"]["seq"].take(), received(&mut other).await) };
        let (ack, others) = tokio::time::timeout(Duration::from_secs(5), acked).await.expect("both are acked");
        assert_eq!(ack, 1);
        assert!(others["ack"]["seq"] == 2 || others["push"].is_object(), "{others}");
    };
    LocalSet::new().run_until(serve).await;
}
