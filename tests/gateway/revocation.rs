//! `/v1/revoke` on the control listener: revocations of valid tokens.

use std::fs;

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, Token, unix_seconds, until};

/// Issued so many seconds ago; negative: the issuer's clock is ahead.
fn issued(seconds_ago: i64) -> Token {
    Token::of(MID).claim("iat", unix_seconds() - seconds_ago)
}

async fn connect(gateway: &TestGateway, token: &Token) -> TestClient {
    gateway.upgrade().bearer(&token.sign()).welcomed().await
}

async fn revoke(gateway: &TestGateway, body: Value) {
    let answer = gateway.control().post("/v1/revoke", &body).await;
    assert_eq!(answer.status, 204, "{}", answer.text());
}

/// Refused as a kicked user is, wherever the token comes from.
async fn refused(gateway: &TestGateway, token: &Token) {
    let token = token.sign();
    assert_eq!(gateway.upgrade().bearer(&token).refused().await.status, 403);
    let mut client = gateway.upgrade().token_as_protocol(&token).open().await;
    assert_eq!(client.closed().await, 4003);
    let mut client = gateway.upgrade().open().await;
    client.send(json!({"hello": {"token": token}})).await;
    assert_eq!(client.closed().await, 4003);
    let http = gateway.anonymous_http().bearer(&token);
    http.get("/v1/history").await.problem(403, "unauthorized");
    http.post("/v1/beats", &json!({"items": []})).await.problem(403, "unauthorized");
}

#[tokio::test]
async fn a_revoked_user_is_out_at_once_on_every_connection() {
    let gateway = TestGateway::start();
    let mut own = [connect(&gateway, &issued(5)).await, connect(&gateway, &Token::of(MID)).await];
    let mut other = gateway.connect(43).await;
    revoke(&gateway, json!({"mid": "42"})).await;
    for client in &mut own {
        assert_eq!(client.closed().await, 4003);
    }
    other.still_serves().await;
    gateway.connect(43).await.still_serves().await;
}

#[tokio::test]
async fn old_tokens_are_refused_and_new_ones_are_not() {
    let gateway = TestGateway::start();
    let (old, silent) = (issued(5), Token::of(MID));
    revoke(&gateway, json!({"mid": "42"})).await;
    refused(&gateway, &old).await;
    refused(&gateway, &silent).await;
    let mut client = connect(&gateway, &issued(-2)).await;
    client.still_serves().await;
    // One that is stolen and shown in a renewal ends the socket that shows it.
    client.send(json!({"token": {"token": old.sign()}})).await;
    assert_eq!(client.closed().await, 4003);
}

#[tokio::test]
async fn one_token_is_revoked_by_its_id() {
    let gateway = TestGateway::start();
    let (lost, kept) = (issued(5).claim("jti", "lost"), issued(5).claim("jti", "kept"));
    let (mut with_lost, mut with_kept) = (connect(&gateway, &lost).await, connect(&gateway, &kept).await);
    let mut renewed = connect(&gateway, &lost).await;
    renewed.call(json!({"token": {"token": kept.sign()}})).await;
    revoke(&gateway, json!({"jti": "lost"})).await;
    assert_eq!(with_lost.closed().await, 4003);
    with_kept.still_serves().await;
    renewed.still_serves().await;
    refused(&gateway, &lost).await;
    connect(&gateway, &kept).await;
}

#[tokio::test]
async fn a_revocation_survives_a_restart_until_it_is_taken_back() {
    let mut gateway = TestGateway::start();
    let (old, lost) = (issued(5), Token::of(43).claim("jti", "lost"));
    revoke(&gateway, json!({"mid": "42"})).await;
    revoke(&gateway, json!({"jti": "lost", "until": (unix_seconds() + 60) * 1000})).await;
    gateway.restart();
    refused(&gateway, &old).await;
    refused(&gateway, &lost).await;
    let shown = gateway.control().get("/v1/revoke").await.json();
    assert_eq!(shown["revocations"].as_array().map(Vec::len), Some(2), "{shown}");
    for query in ["mid=42", "jti=lost"] {
        assert_eq!(gateway.control().delete(&format!("/v1/revoke?{query}")).await.status, 204);
    }
    gateway.restart();
    connect(&gateway, &old).await;
    connect(&gateway, &lost).await;
}

#[tokio::test]
async fn a_revocation_ends_at_its_given_end() {
    let gateway = TestGateway::start();
    let end = gateway.connect(43).await.now() + 4_000;
    revoke(&gateway, json!({"mid": "42", "until": end})).await;
    let upgrade = || gateway.upgrade().bearer(&issued(5).sign());
    assert_eq!(upgrade().refused().await.status, 403);
    until("the end", async || upgrade().attempt().await.is_ok()).await;
    assert!(gateway.connect(43).await.now() >= end, "it ends too soon");
}

#[tokio::test]
async fn with_token_life_max_longer_tokens_are_refused_and_revocations_end() {
    let gateway = TestGateway::with(&[("auth.token_life_max", "1h")]);
    connect(&gateway, &issued(5).expires_in(3_000)).await;
    for long in [issued(5).expires_in(3_600), Token::of(MID)] {
        assert_eq!(gateway.upgrade().bearer(&long.sign()).refused().await.status, 401);
    }
    revoke(&gateway, json!({"mid": "42"})).await;
    let shown = gateway.control().get("/v1/revoke").await.json();
    let shown = &shown["revocations"][0];
    let life = shown["until"].as_i64().expect("an end") - shown["at"].as_i64().expect("a beginning");
    assert_eq!((&shown["mid"], life), (&json!("42"), 3_605_000), "{shown}");
}

#[tokio::test]
async fn a_revocation_must_name_one_user_or_one_token() {
    let gateway = TestGateway::start();
    for body in [json!({}), json!({"mid": "all"}), json!({"jti": ""}), json!({"mid": "1", "jti": "a"}), json!([])] {
        assert_eq!(gateway.control().post("/v1/revoke", &body).await.status, 400, "{body}");
    }
    assert_eq!(gateway.control().delete("/v1/revoke").await.status, 400);
    assert_eq!(gateway.http(MID).post("/v1/revoke", &json!({"mid": "42"})).await.status, 404, "the public listener");
    assert_eq!(gateway.control().get("/v1/revoke").await.json(), json!({"revocations": []}));
}

#[tokio::test]
async fn a_damaged_list_stops_the_start() {
    let mut gateway = TestGateway::embedded(&[]);
    gateway.kill();
    fs::write(gateway.data_dir().join("revocations.json"), "{").expect("a file");
    let failed = gateway.beside().err().expect("a refusal");
    assert_eq!(failed.code, Some(73), "{failed:?}");
    let told: Vec<&str> = failed.stderr.lines().filter(|line| line.starts_with("heartline: ")).collect();
    assert!(told.len() == 1 && told[0].contains("revocations.json"), "{failed:?}");
}

#[tokio::test]
async fn a_revocation_that_cannot_be_saved_is_refused_and_not_applied() {
    let gateway = TestGateway::embedded(&[]);
    let mut client = gateway.connect(MID).await;
    // A directory stands where the draft is written.
    fs::create_dir(gateway.data_dir().join("revocations.json.new")).expect("a directory");
    let answer = gateway.control().post("/v1/revoke", &json!({"mid": "42"})).await;
    answer.problem(503, "unavailable");
    client.still_serves().await;
    assert_eq!(gateway.control().get("/v1/revoke").await.json(), json!({"revocations": []}));
}
