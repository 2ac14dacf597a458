//! Hello and welcome: what comes first, and what a hello does later.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{JSON_PROTOCOL, MID, NEVER, TestClient, TestGateway, Token, beat};

/// A gateway that waits for a hello for as long as it takes.
fn patient() -> TestGateway {
    TestGateway::with(&[("socket.hello_timeout", NEVER)])
}

async fn unknown(gateway: &TestGateway) -> TestClient {
    gateway.upgrade().protocols(&[JSON_PROTOCOL]).open().await
}

#[tokio::test]
async fn the_welcome_has_user_connection_time_and_limits() {
    let gateway = TestGateway::start();
    let token = Token::of(MID);
    let client = gateway.upgrade().bearer(&token.sign()).welcomed().await;
    let welcome = client.welcome();
    assert_eq!(welcome["mid"], "42");
    assert!(!client.connection().is_empty());
    let ahead = welcome["now"].as_i64().expect("now") / 1000 - (token.expires_at() - 3600);
    assert!((0..=10).contains(&ahead), "{welcome}");
    let today = welcome["today"].as_str().expect("today");
    assert!(today.len() == 10 && today.starts_with("20"), "{today}");
    assert_eq!(welcome["interval"], 5_000);
    assert_eq!(welcome["recording"], json!({"paused": false}));
    assert_eq!(welcome["expires"], token.expires_at() * 1000);
    let limits = json!({
        "frame": 131_072, "beats": 500, "items": 500, "list": 200, "ack_delay": 30_000, "connections": 32,
        "frames_per_second": 20, "burst": 100, "bytes_per_second": 262_144, "bytes_burst": 4_194_304,
        "ping": 50_000, "idle": 75_000,
    });
    assert_eq!(welcome["limits"], limits);
}

#[tokio::test]
async fn the_welcome_shows_configured_limits() {
    let gateway = TestGateway::with(&[
        ("limits.connections_per_user", "7"),
        ("limits.beats", "400"),
        ("limits.bytes_per_second", "100000"),
        ("limits.bytes_burst", "200000"),
        ("socket.heartbeat_interval", "2s"),
        ("socket.ping", "20s"),
        ("socket.idle", "30s"),
    ]);
    let client = gateway.connect(MID).await;
    let welcome = client.welcome();
    assert_eq!(welcome["interval"], 2_000);
    assert_eq!(welcome["limits"]["connections"], 7);
    assert_eq!(welcome["limits"]["beats"], 400);
    assert_eq!(welcome["limits"]["bytes_per_second"], 100_000);
    assert_eq!(welcome["limits"]["bytes_burst"], 200_000);
    assert_eq!(welcome["limits"]["ping"], 20_000);
    assert_eq!(welcome["limits"]["idle"], 30_000);
}

#[tokio::test]
async fn every_connection_has_an_id_of_its_own() {
    let gateway = TestGateway::start();
    let (one, two) = (gateway.connect(MID).await, gateway.connect(MID).await);
    assert_ne!(one.connection(), two.connection());
}

#[tokio::test]
async fn the_welcome_tells_that_recording_is_paused() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    client.pause_recording(true, now).await;
    assert_eq!(gateway.connect(MID).await.welcome()["recording"], json!({"paused": true}));
}

#[tokio::test]
async fn anything_but_a_hello_before_the_welcome_closes_with_4001() {
    let gateway = patient();
    for text in [
        r#"{"seq":1,"get":{"items":[]}}"#,
        r#"{"seq":1,"beats":{"items":[]}}"#,
        r#"{"seq":1,"token":{"token":"a"}}"#,
        r#"{"seq":1,"salute":{}}"#,
        r#"{"seq":1}"#,
        "{}",
        "[]",
        "not JSON",
        "",
    ] {
        let mut client = unknown(&gateway).await;
        client.send_text(text).await;
        let because = (4001, "another frame before the welcome".to_owned());
        assert_eq!(client.closed_because().await, because, "{text}");
    }
}

#[tokio::test]
async fn a_bad_token_in_hello_closes_with_4001_and_an_expired_one_with_4002() {
    let gateway = patient();
    let expired = Token::of(MID).expires_in(-60).sign();
    let malformed = (4001, "malformed token");
    for (token, (code, cause)) in [("no-token", malformed), ("", malformed), (expired.as_str(), (4002, "expired"))] {
        let mut client = unknown(&gateway).await;
        client.send(json!({"hello": {"token": token}})).await;
        assert_eq!(client.closed_because().await, (code, cause.to_owned()), "{token}");
    }
}

#[tokio::test]
async fn a_hello_without_a_token_does_not_authenticate() {
    let gateway = patient();
    let mut client = unknown(&gateway).await;
    client.send(json!({"hello": {"device": "tv"}})).await;
    assert_eq!(client.closed_because().await, (4001, "missing token".to_owned()));
}

#[tokio::test]
async fn a_hello_that_cannot_be_decoded_is_invalid_and_another_may_follow() {
    let gateway = patient();
    let mut client = unknown(&gateway).await;
    client.send_text(r#"{"seq":1,"hello":{"token":5}}"#).await;
    let error = client.error().await;
    assert_eq!((&error["seq"], &error["code"]), (&json!(1), &json!("invalid")));
    assert!(error["message"].as_str().expect("a message").starts_with("hello.token:"), "{error}");
    client.send_as(2, json!({"hello": {"token": Token::of(MID).sign()}})).await;
    client.wait_for_welcome().await;
    client.still_serves().await;
}

#[tokio::test]
async fn a_hello_that_authenticates_has_no_result() {
    let gateway = patient();
    let mut client = unknown(&gateway).await;
    client.send(json!({"hello": {"token": Token::of(MID).sign(), "device": "tv"}})).await;
    client.wait_for_welcome().await;
    client.still_serves().await;
    assert!(client.frames_kept().is_empty());
}

#[tokio::test]
async fn no_hello_in_time_closes_with_4001() {
    let gateway = TestGateway::with(&[("socket.hello_timeout", "300ms")]);
    assert_eq!(unknown(&gateway).await.closed_because().await, (4001, "no hello in time".to_owned()));
}

#[tokio::test]
async fn a_malformed_hello_does_not_extend_the_hello_timeout() {
    const TIMEOUT: Duration = Duration::from_secs(4);
    let gateway = TestGateway::with(&[("socket.hello_timeout", "4s")]);
    let mut client = unknown(&gateway).await;
    tokio::time::sleep(TIMEOUT / 2).await;
    let sent = Instant::now();
    client.send_text(r#"{"seq":1,"hello":5}"#).await;
    client.error().await;
    assert_eq!(client.closed().await, 4001);
    assert!(sent.elapsed() < TIMEOUT, "{:?} from the hello on", sent.elapsed());
}

#[tokio::test]
async fn a_later_hello_sets_the_device_of_the_frames_after_it() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.send(json!({"hello": {"device": "tv-3f", "client": "tests/1"}})).await;
    client.watch([beat(100, at)]).await;
    assert_eq!(client.record(100).await["device"], "tv-3f");

    let result = client.call(json!({"hello": {"device": "phone"}})).await;
    assert_eq!(result, json!({"seq": client.last_seq()}));
    client.watch([beat(100, at + 1)]).await;
    assert_eq!(client.record(100).await["device"], "phone");
}

#[tokio::test]
async fn the_hello_that_authenticates_sets_the_device() {
    let gateway = patient();
    let mut client = unknown(&gateway).await;
    client.send(json!({"hello": {"token": Token::of(MID).sign(), "device": "tv-3f"}})).await;
    client.wait_for_welcome().await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    assert_eq!(client.record(100).await["device"], "tv-3f");
}
