//! A server whose clock differs from its store's refuses clients until it agrees.

use serde_json::json;
use tokio::task::LocalSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::fixture::Fixture;
use super::sockets::{Socket, connect, received, send};
use super::{PATHS, beat};
use futures_util::StreamExt;

async fn close_code(socket: &mut Socket) -> u16 {
    match socket.next().await {
        Some(Ok(Message::Close(Some(frame)))) => frame.code.into(),
        other => panic!("not a close: {other:?}"),
    }
}

#[tokio::test]
async fn requests_get_503_with_retry_after_while_the_clock_is_off() {
    let fixture = Fixture::new();
    fixture.put_store_ahead(-2_000).await;
    for path in PATHS.into_iter().filter(|path| *path != "/v1/nowhere") {
        let answer = fixture.get(path).await;
        assert_eq!(answer.header("retry-after"), Some("5"), "{path}");
        let detail = answer.problem(503, "unavailable")["detail"].take();
        assert!(detail.as_str().is_some_and(|detail| detail.contains("ahead of the store's")), "{detail}");
    }
    let items = json!({"items": [beat(&fixture, 100, 0, "playing")]});
    assert_eq!(fixture.post("/v1/beats", &items).await.status, 503);
    fixture.put_store_ahead(0).await;
    assert_eq!(fixture.get("/v1/history/1/100").await.status, 404, "nothing was taken");
    assert_eq!(fixture.post("/v1/beats", &items).await.status, 200);
}

#[tokio::test]
async fn sockets_are_drained_while_the_clock_is_off_and_welcomed_afterwards() {
    let serve = async {
        let fixture = Fixture::new();
        let address = fixture.listen().await;
        let mut sockets = [connect(address, &fixture.token).await, connect(address, &fixture.token).await];
        for socket in &mut sockets {
            assert!(received(socket).await["welcome"].is_object());
        }
        fixture.put_store_ahead(2_000).await;
        for socket in &mut sockets {
            let bye = received(socket).await["bye"].take();
            assert_eq!(bye["reason"], "drain", "{bye}");
            assert!(bye["reconnect_after"].as_u64().is_some_and(|after| (200..=10_000).contains(&after)), "{bye}");
            assert_eq!(close_code(socket).await, 1012);
        }
        let request = format!("ws://{address}/v1/connect").into_client_request().expect("a request");
        let stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
        match tokio_tungstenite::client_async(request, stream).await {
            Err(tokio_tungstenite::tungstenite::Error::Http(refused)) => {
                assert_eq!(
                    (refused.status().as_u16(), &refused.headers()["retry-after"]),
                    (503, &"5".parse().expect("5"))
                );
            }
            other => panic!("not refused: {other:?}"),
        }
        fixture.put_store_ahead(0).await;
        // The thread that accepts learns of it in its own turn; a client that connects before that may be refused once
        // more.
        tokio::task::yield_now().await;
        let mut socket = connect(address, &fixture.token).await;
        assert!(received(&mut socket).await["welcome"].is_object());
        send(&mut socket, json!({"seq": 1, "get": {"items": []}})).await;
        assert_eq!(received(&mut socket).await["result"]["seq"], 1, "it stays");
    };
    LocalSet::new().run_until(serve).await;
}
