//! What makes a token good, and which close code and reason a bad one gets.

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use crate::support::{MID, SECRET, TestGateway, Token, unix_seconds};

const MALFORMED: &str = "malformed token";
const ALGORITHM: &str = "algorithm not allowed";
const SIGNATURE: &str = "bad signature";
const SUB: &str = "sub is not a decimal number";
const AUDIENCE: &str = "aud is not the audience of this gateway";
const ISSUER: &str = "iss is not the issuer of this gateway";
const OTHER_KEY: &str = "another-key-0123456789abcdef0123456789";

/// The close code and the reason of a socket with this token, in `hello` as in a subprotocol; over HTTP it must be a
/// 401 that says the same.
async fn refused(gateway: &TestGateway, token: &str) -> (u16, String) {
    let refusal = gateway.upgrade().bearer(token).refused().await;
    assert_eq!(refusal.status, 401, "{token}");
    let answer = gateway.anonymous_http().bearer(token).get("/v1/history").await;
    let detail = answer.problem(401, "unauthorized")["detail"].clone();
    let mut client = gateway.upgrade().open().await;
    client.send(json!({"hello": {"token": token}})).await;
    let closed = client.closed_because().await;
    assert_eq!(gateway.upgrade().token_as_protocol(token).open().await.closed_because().await, closed, "{token}");
    assert_eq!(detail, closed.1, "{token}");
    closed
}

fn bad(cause: &str) -> (u16, String) {
    (4001, cause.to_owned())
}

fn expired() -> (u16, String) {
    (4002, "expired".to_owned())
}

async fn accepted(gateway: &TestGateway, token: &str) -> Value {
    let client = gateway.upgrade().bearer(token).welcomed().await;
    client.welcome()["mid"].clone()
}

#[tokio::test]
async fn the_algorithm_is_fixed() {
    let gateway = TestGateway::start();
    for algorithm in [Algorithm::HS384, Algorithm::HS512] {
        let token = Token::of(MID).sign_with(algorithm, SECRET);
        assert_eq!(refused(&gateway, &token).await, bad(ALGORITHM), "{algorithm:?}");
    }
    let signed = Token::of(MID).sign();
    let body = signed.split('.').nth(1).expect("claims");
    // {"alg":"none"}
    let unsigned = format!("eyJhbGciOiJub25lIn0.{body}.");
    assert_eq!(refused(&gateway, &unsigned).await, bad(ALGORITHM));
}

#[tokio::test]
async fn another_key_is_refused() {
    let gateway = TestGateway::start();
    let token = Token::of(MID).sign_with(Algorithm::HS256, OTHER_KEY);
    assert_eq!(refused(&gateway, &token).await, bad(SIGNATURE));
}

#[tokio::test]
async fn an_expiry_is_required() {
    let gateway = TestGateway::start();
    assert_eq!(refused(&gateway, &Token::of(MID).without("exp").sign()).await, bad("the token has no exp"));
    assert_eq!(refused(&gateway, &Token::of(MID).claim("exp", "soon").sign()).await, bad("exp is not a number"));
}

#[tokio::test]
async fn an_expiry_in_milliseconds_is_named() {
    let gateway = TestGateway::start();
    let token = Token::of(MID).claim("exp", (unix_seconds() + 3_600) * 1_000).sign();
    assert_eq!(refused(&gateway, &token).await, bad("exp is in milliseconds, and must be in seconds"));
}

#[tokio::test]
async fn an_expired_token_is_forgiven_for_5_s_at_connect() {
    let gateway = TestGateway::start();
    accepted(&gateway, &Token::of(MID).expires_in(-2).sign()).await;
    assert_eq!(refused(&gateway, &Token::of(MID).expires_in(-8).sign()).await, expired());
}

#[tokio::test]
async fn only_a_wrong_expiry_alone_is_4002() {
    let gateway = TestGateway::with(&[("auth.audience", "heartline"), ("auth.issuer", "the-app")]);
    let good = Token::of(MID).claim("aud", "heartline").claim("iss", "the-app");
    accepted(&gateway, &good.sign()).await;

    let old = good.expires_in(-60);
    assert_eq!(refused(&gateway, &old.sign()).await, expired());
    for (cause, token) in [
        (AUDIENCE, old.clone().claim("aud", "another")),
        (AUDIENCE, old.clone().without("aud")),
        (ISSUER, old.clone().claim("iss", "another")),
        ("the token is not valid yet", old.clone().claim("nbf", unix_seconds() + 600)),
        (SUB, old.clone().claim("sub", "nobody")),
        ("sub is not a string", old.clone().without("sub")),
    ] {
        assert_eq!(refused(&gateway, &token.sign()).await, bad(cause));
    }
    let forged = old.sign_with(Algorithm::HS256, OTHER_KEY);
    assert_eq!(refused(&gateway, &forged).await, bad(SIGNATURE));
}

#[tokio::test]
async fn a_token_is_not_good_before_its_time() {
    let gateway = TestGateway::start();
    accepted(&gateway, &Token::of(MID).claim("nbf", unix_seconds() - 60).sign()).await;
    let early = Token::of(MID).claim("nbf", unix_seconds() + 600);
    assert_eq!(refused(&gateway, &early.sign()).await, bad("the token is not valid yet"));
}

#[tokio::test]
async fn audience_and_issuer_are_checked_when_configured() {
    let gateway = TestGateway::with(&[("auth.audience", "heartline"), ("auth.issuer", "the-app")]);
    let good = Token::of(MID).claim("aud", "heartline").claim("iss", "the-app");
    accepted(&gateway, &good.sign()).await;
    let one_of_two = good.clone().claim("aud", json!(["another", "heartline"]));
    accepted(&gateway, &one_of_two.sign()).await;
    for (cause, token) in [
        (AUDIENCE, good.clone().claim("aud", "another")),
        (AUDIENCE, good.clone().without("aud")),
        (ISSUER, good.clone().claim("iss", "another")),
        (ISSUER, good.clone().without("iss")),
    ] {
        assert_eq!(refused(&gateway, &token.sign()).await, bad(cause));
    }
}

#[tokio::test]
async fn audience_and_issuer_are_not_checked_otherwise() {
    let gateway = TestGateway::start();
    let token = Token::of(MID).claim("aud", "anybody").claim("iss", "anyone");
    accepted(&gateway, &token.sign()).await;
}

#[tokio::test]
async fn the_subject_is_a_decimal_u64() {
    let gateway = TestGateway::start();
    for (sub, mid) in [("0", "0"), ("18446744073709551615", "18446744073709551615"), ("007", "7")] {
        assert_eq!(accepted(&gateway, &Token::of(0).claim("sub", sub).sign()).await, mid);
    }
    for sub in ["", "+1", "-1", " 1", "1 ", "1.0", "1e3", "0x1", "1_000", "٤٢", "nobody", "18446744073709551616"] {
        let token = Token::of(0).claim("sub", sub).sign();
        assert_eq!(refused(&gateway, &token).await, bad(SUB), "{sub:?}");
    }
    for token in [Token::of(0).without("sub"), Token::of(0).claim("sub", 42)] {
        assert_eq!(refused(&gateway, &token.sign()).await, bad("sub is not a string"));
    }
}

#[tokio::test]
async fn a_broken_token_is_refused() {
    let gateway = TestGateway::start();
    let good = Token::of(MID).sign();
    let (rest, signature) = good.rsplit_once('.').expect("three parts");
    let cut = &signature[..signature.len() - 2];
    for token in [rest, &format!("{rest}.{cut}"), &format!("{good}.x"), "a.b.c", "."] {
        assert_eq!(refused(&gateway, token).await, bad(MALFORMED), "{token}");
    }
    assert_eq!(refused(&gateway, &format!("{rest}.")).await, bad(SIGNATURE));
}

#[tokio::test]
async fn an_end_in_the_far_future_is_an_end() {
    let gateway = TestGateway::start();
    for exp in [253_402_300_800_u64, 9_007_199_254_740_991, u64::MAX / 1000, u64::MAX] {
        let token = Token::of(MID).claim("exp", exp).sign();
        let mut client = gateway.upgrade().bearer(&token).open().await;
        client.wait_for_welcome().await;
        assert!(client.welcome()["expires"].is_u64(), "{exp}");
        client.call(json!({"token": {"token": token}})).await;
        client.still_serves().await;
    }
    gateway.connect(MID).await.still_serves().await;
}
