//! Upgrades, tokens and pages that are refused: counted by cause, and at debug logged with it.

use serde_json::{Value, json};

use crate::support::{JSON_PROTOCOL, MID, TestGateway, Token};

fn gateway() -> TestGateway {
    TestGateway::with(&[("log.format", "json"), ("log.level", "debug")])
}

fn of_event(gateway: &TestGateway, event: &str) -> Vec<Value> {
    let log = gateway.log();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    lines.filter(|line| line["event"] == event).collect()
}

fn causes(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["cause"].as_str().expect("a cause")).collect()
}

#[tokio::test]
async fn a_refused_upgrade_is_logged_and_counted_by_cause() {
    let gateway = gateway();
    let good = || gateway.upgrade().bearer(&Token::of(MID).sign());
    good().origin("https://evil.example").refused().await;
    gateway.upgrade().bearer(&Token::of(MID).expires_in(-60).sign()).refused().await;
    good().protocols(&["chat"]).refused().await;
    good().path("/v1/connect?v=1").refused().await;
    gateway.control().post("/v1/kick", &json!({"mid": MID.to_string()})).await;
    good().refused().await;
    let lines = of_event(&gateway, "upgrade_refused");
    assert_eq!(causes(&lines), ["origin", "token", "malformed", "malformed", "kicked"], "{lines:?}");
    assert_eq!((&lines[0]["origin"], &lines[0]["address"]), (&json!("https://evil.example"), &json!("127.0.0.1")));
    assert!(lines[3]["message"].as_str().is_some_and(|said| said.contains("query: must be empty")), "{lines:?}");
    for (reason, count) in [("origin", 1.0), ("token", 1.0), ("malformed", 2.0), ("kicked", 1.0), ("clock", 0.0)] {
        assert_eq!(
            gateway.metric(&format!(r#"heartline_refused_total{{reason="{reason}"}}"#)).await,
            count,
            "{reason}"
        );
    }
}

#[tokio::test]
async fn an_upgrade_that_finds_no_room_is_counted_once() {
    let settings = [("log.format", "json"), ("log.level", "debug"), ("limits.connections", "1")];
    let gateway = TestGateway::with(&settings);
    let _one = gateway.connect(MID).await;
    gateway.upgrade().bearer(&Token::of(MID).sign()).refused().await;
    assert_eq!(gateway.metric(r#"heartline_refused_total{reason="upgrades"}"#).await, 1.0);
    assert_eq!(causes(&of_event(&gateway, "upgrade_refused")), ["upgrades"]);
}

#[tokio::test]
async fn a_refused_token_is_logged_and_counted_by_cause_wherever_it_was() {
    let gateway = gateway();
    let expired = Token::of(MID).expires_in(-60).sign();
    gateway.upgrade().token_as_protocol(&expired).open().await.closed().await;
    let mut by_hello = gateway.upgrade().protocols(&[JSON_PROTOCOL]).open().await;
    by_hello.send(json!({"hello": {"token": "no-token"}})).await;
    by_hello.closed().await;
    gateway.anonymous_http().bearer(&expired).get("/v1/history").await;
    gateway.connect(MID).await.refused(json!({"token": {"token": format!("{expired}x")}})).await;
    assert_eq!(causes(&of_event(&gateway, "token_refused")), ["expired", "malformed", "expired", "signature"]);
    for (cause, count) in [("expired", 2.0), ("malformed", 1.0), ("signature", 1.0), ("issuer", 0.0)] {
        let name = format!(r#"heartline_tokens_refused_total{{cause="{cause}"}}"#);
        assert_eq!(gateway.metric(&name).await, count, "{cause}");
    }
    let closed = of_event(&gateway, "connection_refused");
    let closed: Vec<_> = closed.iter().map(|line| (&line["code"], &line["cause"], &line["address"])).collect();
    let here = json!("127.0.0.1");
    let (expired, malformed) = (json!("expired"), json!("malformed token"));
    assert_eq!(closed, [(&json!(4002), &expired, &here), (&json!(4001), &malformed, &here)]);
}

#[tokio::test]
async fn a_page_of_another_origin_is_logged_and_counted() {
    let gateway = gateway();
    let origin = format!("https://{}.example", "a".repeat(200));
    gateway.http(MID).header("origin", &origin).get("/v1/history").await;
    let lines = of_event(&gateway, "request_refused");
    assert_eq!(causes(&lines), ["origin"]);
    assert_eq!((&lines[0]["origin"], &lines[0]["address"]), (&json!(&origin[..128]), &json!("127.0.0.1")));
    assert_eq!(gateway.metric(r#"heartline_refused_total{reason="origin"}"#).await, 1.0);
}
