//! A token's end, and its renewal in band.

use std::time::{Duration, Instant};

use jsonwebtoken::Algorithm;
use serde_json::json;

use crate::support::{MID, TestClient, TestGateway, Token, unix_seconds};

/// So long a socket lives at least, whatever its token says.
const LIFE_MIN: Duration = Duration::from_secs(5);

/// Expired within the leeway: such a socket lives for 5 s after its welcome.
async fn short_lived(gateway: &TestGateway) -> TestClient {
    gateway.upgrade().bearer(&Token::of(MID).expires_in(-2).sign()).welcomed().await
}

/// Another user's, whose token has so many seconds left.
async fn lives_for(gateway: &TestGateway, seconds: i64) -> TestClient {
    gateway.upgrade().bearer(&Token::of(43).expires_in(seconds).sign()).welcomed().await
}

#[tokio::test]
async fn a_renewal_is_answered_with_the_new_end() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let token = Token::of(MID).expires_in(7_200);
    let result = client.call(json!({"token": {"token": token.sign()}})).await;
    assert_eq!(result, json!({"seq": 1, "expires": token.expires_at() * 1000}));
}

#[tokio::test]
async fn a_renewal_for_another_user_is_unauthorized_and_changes_nothing() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let other = Token::of(43).sign();
    for operation in [json!({"token": {"token": other}}), json!({"hello": {"token": other}})] {
        let error = client.refused(operation).await;
        assert_eq!((&error["code"], &error["retry"]), (&json!("unauthorized"), &json!(false)));
        let message = error["message"].as_str().expect("a message");
        assert!(message.ends_with("token: is not of the user of this connection"), "{message}");
    }
    client.still_serves().await;
}

#[tokio::test]
async fn a_bad_renewal_is_unauthorized() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let expired = Token::of(MID).expires_in(-60).sign();
    let forged = Token::of(MID).sign_with(Algorithm::HS256, "another-key-0123456789abcdef0123456789");
    for (token, cause) in
        [("", "malformed token"), ("no-token", "malformed token"), (&forged, "bad signature"), (&expired, "expired")]
    {
        for operation in ["token", "hello"] {
            let error = client.refused(json!({operation: {"token": token}})).await;
            assert_eq!(error["code"], "unauthorized", "{token}");
            assert_eq!(error["message"], format!("{operation}.token: {cause}"));
        }
    }
    // Three in a row: unauthorized neither counts as a broken frame nor closes.
    client.still_serves().await;
}

#[tokio::test]
async fn a_renewal_with_an_expired_token_is_unauthorized_and_changes_nothing() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let welcomed = Instant::now();
    let ended = Token::of(MID).expires_in(-2).sign();
    for operation in [json!({"token": {"token": ended}}), json!({"hello": {"token": ended}})] {
        let error = client.refused(operation).await;
        assert_eq!(error["code"], "unauthorized");
        assert!(error["message"].as_str().is_some_and(|message| message.ends_with(".token: expired")), "{error}");
    }
    tokio::time::sleep_until((welcomed + Duration::from_millis(5_500)).into()).await;
    client.still_serves().await;
}

#[tokio::test]
async fn a_hello_with_a_token_of_the_same_user_renews() {
    let gateway = TestGateway::start();
    let mut client = short_lived(&gateway).await;
    let welcomed = Instant::now();
    client.call(json!({"hello": {"token": Token::of(MID).sign()}})).await;
    tokio::time::sleep_until((welcomed + Duration::from_millis(5_500)).into()).await;
    client.still_serves().await;
}

#[tokio::test]
async fn a_socket_ends_with_its_token_but_not_before_5_s() {
    let gateway = TestGateway::start();
    let mut longer = lives_for(&gateway, 30).await;
    let connects = Instant::now();
    let mut client = short_lived(&gateway).await;
    client.still_serves().await;
    assert_eq!(client.closed().await, 4002);
    assert!(connects.elapsed() >= LIFE_MIN, "{:?}", connects.elapsed());
    longer.still_serves().await;
}

#[tokio::test]
async fn a_socket_is_closed_at_the_end_of_its_token() {
    let gateway = TestGateway::start();
    let mut longer = lives_for(&gateway, 30).await;
    let token = Token::of(MID).expires_in(7);
    let mut client = gateway.upgrade().bearer(&token.sign()).welcomed().await;
    assert_eq!(client.closed_because().await, (4002, "expired".to_owned()));
    // The gateway's clock and this one are the same machine's.
    assert!(unix_seconds() >= token.expires_at() - 1, "closed before the end");
    longer.still_serves().await;
}

#[tokio::test]
async fn a_renewal_after_the_end_counts_while_the_socket_is_open() {
    let gateway = TestGateway::start();
    let mut client = short_lived(&gateway).await;
    let welcomed = Instant::now();
    tokio::time::sleep(Duration::from_secs(3)).await;
    client.call(json!({"token": {"token": Token::of(MID).sign()}})).await;
    tokio::time::sleep_until((welcomed + Duration::from_millis(5_500)).into()).await;
    client.still_serves().await;
}

#[tokio::test]
async fn a_refused_renewal_does_not_move_the_end() {
    let gateway = TestGateway::start();
    let mut client = short_lived(&gateway).await;
    client.refused(json!({"token": {"token": Token::of(43).sign()}})).await;
    assert_eq!(client.closed().await, 4002);
}
