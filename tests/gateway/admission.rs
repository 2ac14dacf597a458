//! The upgrade: the three places of a token, subprotocols, and what a URL may not carry.

use serde_json::json;

use crate::support::{JSON_PROTOCOL, MID, TestGateway, Token};

#[tokio::test]
async fn a_token_in_the_header_is_welcomed() {
    let gateway = TestGateway::start();
    let client = gateway.upgrade().bearer(&Token::of(MID).sign()).welcomed().await;
    assert_eq!(client.welcome()["mid"], "42");
}

#[tokio::test]
async fn the_word_bearer_may_be_written_in_any_case() {
    let gateway = TestGateway::start();
    let authorization = format!("bearer {}", Token::of(MID).sign());
    gateway.upgrade().header("authorization", &authorization).welcomed().await;
}

#[tokio::test]
async fn a_token_as_a_subprotocol_is_welcomed_and_never_selected() {
    let gateway = TestGateway::start();
    let token = Token::of(MID).sign();
    let client = gateway.upgrade().token_as_protocol(&token).welcomed().await;
    assert_eq!(client.welcome()["mid"], "42");
    assert_eq!(client.protocol(), Some(JSON_PROTOCOL));

    let token_first = [&format!("heartline.token.{token}"), JSON_PROTOCOL];
    let client = gateway.upgrade().protocols(&token_first).welcomed().await;
    assert_eq!(client.protocol(), Some(JSON_PROTOCOL));
}

#[tokio::test]
async fn a_token_in_hello_is_welcomed() {
    let gateway = TestGateway::start();
    let mut client = gateway.upgrade().protocols(&[JSON_PROTOCOL]).open().await;
    client.send(json!({"hello": {"token": Token::of(MID).sign()}})).await;
    assert_eq!(client.wait_for_welcome().await["mid"], "42");
}

#[tokio::test]
async fn a_bad_token_in_the_header_is_a_401_without_an_upgrade() {
    let gateway = TestGateway::start();
    let expired = Token::of(MID).expires_in(-60).sign();
    for authorization in ["Bearer no-token", "Bearer ", "Basic NDI6NDI=", &format!("Bearer {expired}")] {
        let refusal = gateway.upgrade().header("authorization", authorization).refused().await;
        assert_eq!(refusal.status, 401, "{authorization}");
        let challenge = refusal.headers.get("www-authenticate").expect("a challenge");
        assert!(challenge.as_bytes().starts_with(b"Bearer"), "{challenge:?}");
    }
}

#[tokio::test]
async fn a_bad_token_as_a_subprotocol_is_upgraded_and_closed_with_4001() {
    let gateway = TestGateway::start();
    let mut client = gateway.upgrade().token_as_protocol("no-token").open().await;
    assert_eq!(client.closed().await, 4001);
    assert!(client.frames_kept().is_empty());
}

#[tokio::test]
async fn an_expired_token_as_a_subprotocol_is_upgraded_and_closed_with_4002() {
    let gateway = TestGateway::start();
    let expired = Token::of(MID).expires_in(-60).sign();
    let mut client = gateway.upgrade().token_as_protocol(&expired).open().await;
    assert_eq!(client.closed().await, 4002);
    assert!(client.frames_kept().is_empty());
}

#[tokio::test]
async fn without_an_offered_subprotocol_the_socket_speaks_json() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    assert_eq!(client.protocol(), Some(JSON_PROTOCOL));
    client.still_serves().await;

    let mut client = gateway.upgrade().bearer(&Token::of(MID).sign()).welcomed().await;
    assert_eq!(client.protocol(), None);
    client.still_serves().await;
}

#[tokio::test]
async fn a_known_subprotocol_is_selected_among_unknown_ones() {
    let gateway = TestGateway::start();
    let upgrade = gateway.upgrade().protocols(&["chat", JSON_PROTOCOL, "heartline.v9.json"]);
    let client = upgrade.bearer(&Token::of(MID).sign()).welcomed().await;
    assert_eq!(client.protocol(), Some(JSON_PROTOCOL));
}

#[tokio::test]
async fn only_unknown_subprotocols_or_only_a_token_are_a_400() {
    let gateway = TestGateway::start();
    let token = Token::of(MID).sign();
    let as_protocol = format!("heartline.token.{token}");
    let rows: [&[&str]; 4] =
        [&["chat"], &["heartline.v2.json", "HEARTLINE.V1.JSON"], &[&as_protocol], &["chat", &as_protocol]];
    for offered in rows {
        let upgrade = gateway.upgrade().protocols(offered).bearer(&token);
        assert_eq!(upgrade.refused().await.status, 400, "{offered:?}");
    }
}

#[tokio::test]
async fn any_query_on_the_upgrade_is_a_400() {
    let gateway = TestGateway::start();
    let token = Token::of(MID).sign();
    for query in [&format!("token={token}"), "token=", "a=b", ""] {
        let path = format!("/v1/connect?{query}");
        let refusal = gateway.upgrade().path(&path).bearer(&token).refused().await;
        assert_eq!(refusal.status, 400, "{path}");
    }
}

#[tokio::test]
async fn a_token_in_any_url_is_a_400() {
    let gateway = TestGateway::start();
    let http = gateway.http(MID);
    for name in ["token", "access_token", "jwt"] {
        for path in ["/v1/history", "/v1/history/1/100", "/v1/recording", "/"] {
            let answer = http.get(&format!("{path}?{name}=abc")).await;
            assert_eq!(answer.status, 400, "{path}?{name}=abc");
        }
    }
}

#[tokio::test]
async fn a_request_that_is_no_upgrade_is_answered_and_not_upgraded() {
    let gateway = TestGateway::start();
    let answer = gateway.http(MID).get("/v1/connect").await;
    assert!((400..500).contains(&answer.status), "{}", answer.status);
}

#[tokio::test]
async fn neither_a_token_nor_a_user_is_ever_logged() {
    let gateway = TestGateway::with(&[("log.level", "trace")]);
    let mid = 7_163_948_205_731;
    let good = Token::of(mid).sign();
    let bad = Token::of(mid).expires_in(-60).sign();
    gateway.control().post("/v1/kick", &json!({"mid": (mid + 1).to_string()})).await;
    gateway.http(mid + 1).get("/v1/history").await;
    gateway.http(mid).get("/v1/history").await;
    gateway.upgrade().bearer(&good).welcomed().await.still_serves().await;
    gateway.upgrade().token_as_protocol(&good).welcomed().await.still_serves().await;
    gateway.upgrade().token_as_protocol(&bad).open().await.closed().await;
    gateway.upgrade().path(&format!("/v1/connect?token={good}")).refused().await;
    let mut client = gateway.upgrade().open().await;
    client.send(json!({"hello": {"token": good}})).await;
    client.wait_for_welcome().await;
    client.call(json!({"token": {"token": good}})).await;
    client.refused(json!({"token": {"token": bad}})).await;

    let log = gateway.log();
    for token in [good, bad] {
        let signature = token.rsplit('.').next().expect("three parts");
        assert!(!log.contains(signature), "a token is in the log");
    }
    assert!(!log.contains("71639482057"), "a user is in the log");
}
