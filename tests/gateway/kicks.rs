//! `POST /v1/kick` on the control listener.

use serde_json::json;

use crate::support::{MID, TestGateway, Token};

#[tokio::test]
async fn a_kick_closes_every_connection_of_the_user_with_4003() {
    let gateway = TestGateway::start();
    let mut kicked = [gateway.connect(MID).await, gateway.connect(MID).await];
    let mut other = gateway.connect(43).await;
    let answer = gateway.control().post("/v1/kick", &json!({"mid": "42"})).await;
    assert_eq!(answer.status, 204, "{}", answer.text());
    for client in &mut kicked {
        assert_eq!(client.closed().await, 4003);
    }
    other.still_serves().await;
}

#[tokio::test]
async fn a_kicked_user_is_refused_for_a_while_wherever_the_token_comes_from() {
    let gateway = TestGateway::start();
    gateway.control().post("/v1/kick", &json!({"mid": "42"})).await;
    let token = Token::of(MID).sign();
    assert_eq!(gateway.upgrade().bearer(&token).refused().await.status, 403);
    let mut client = gateway.upgrade().token_as_protocol(&token).open().await;
    assert_eq!(client.closed().await, 4003);
    let mut client = gateway.upgrade().open().await;
    client.send(json!({"hello": {"token": token}})).await;
    assert_eq!(client.closed().await, 4003);
    for path in ["/v1/history", "/v1/recording"] {
        assert_eq!(gateway.http(MID).get(path).await.status, 403, "{path}");
    }
    let body = json!({"items": []});
    assert_eq!(gateway.http(MID).post("/v1/beats", &body).await.status, 403);
    gateway.connect(43).await.still_serves().await;
}

#[tokio::test]
async fn a_user_without_connections_may_be_kicked() {
    let gateway = TestGateway::start();
    assert_eq!(gateway.control().post("/v1/kick", &json!({"mid": "42"})).await.status, 204);
}

#[tokio::test]
async fn a_kick_without_a_user_is_refused() {
    let gateway = TestGateway::start();
    for body in [json!({}), json!({"mid": ""}), json!({"mid": "everybody"}), json!({"mid": -1}), json!([])] {
        assert_eq!(gateway.control().post("/v1/kick", &body).await.status, 400, "{body}");
    }
    assert_eq!(gateway.control().get("/v1/kick").await.status, 405);
}

#[tokio::test]
async fn the_public_listener_takes_no_kicks() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    assert_eq!(gateway.http(MID).post("/v1/kick", &json!({"mid": "42"})).await.status, 404);
    client.still_serves().await;
}
