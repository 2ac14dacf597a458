//! Sockets over a store that never answers: nobody is acked, and nobody waits for ever.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::beat;
use super::fixture::Fixture;

pub type Socket = WebSocketStream<TcpStream>;

pub async fn connect(address: SocketAddr, token: &str) -> Socket {
    let mut request = format!("ws://{address}/v1/connect").into_client_request().expect("a request");
    let authorization = format!("Bearer {token}").parse().expect("a header");
    request.headers_mut().insert("authorization", authorization);
    let stream = TcpStream::connect(address).await.expect("the gateway listens");
    tokio_tungstenite::client_async(request, stream).await.expect("an upgrade").0
}

async fn say(socket: &mut Socket, frame: Value) {
    socket.send(Message::text(frame.to_string())).await.expect("sent");
}

pub async fn heard(socket: &mut Socket) -> Value {
    let message = socket.next().await.expect("a message").expect("no error");
    serde_json::from_str(message.to_text().expect("text")).expect("JSON")
}

#[tokio::test]
async fn whoever_cannot_be_welcomed_is_closed_with_1013() {
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
async fn operations_are_unavailable_and_beats_wait() {
    let serve = async {
        let fixture = Fixture::new();
        let mut socket = connect(fixture.listen().await, &fixture.token).await;
        assert!(heard(&mut socket).await["welcome"].is_object());
        fixture.lose_the_store();
        let items = json!([{"kind": 1, "oid": "100"}]);
        for (seq, operation) in [
            (1, json!({"get": {"items": items}})),
            (2, json!({"list": {}})),
            (3, json!({"delete": {"items": items, "at": fixture.now()}})),
        ] {
            let mut frame = operation;
            frame["seq"] = json!(seq);
            say(&mut socket, frame).await;
            let error = heard(&mut socket).await["error"].take();
            assert_eq!((&error["seq"], &error["code"]), (&json!(seq), &json!("unavailable")), "{error}");
            assert_eq!(error["retry"], true);
        }
        // A beat is neither acked nor refused; what comes after it is told to try again.
        say(&mut socket, json!({"seq": 4, "beats": {"items": [beat(&fixture, 100, 0, "playing")]}})).await;
        say(&mut socket, json!({"seq": 5, "get": {"items": items}})).await;
        let answer = heard(&mut socket).await;
        assert_eq!(answer["error"]["seq"], 5, "{answer}");
    };
    LocalSet::new().run_until(serve).await;
}
