//! Every call of the control listener leaves a line in the log.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{CONTROL_TOKEN, Http, PATIENCE, TestGateway, run};

fn calls(gateway: &TestGateway) -> Vec<Value> {
    let lines = gateway.log().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<Value>>();
    lines.into_iter().filter(|line| line["event"] == "control").collect()
}

/// As `heartline hash` prints it.
fn hash(mid: &str, settings: &[(&str, &str)]) -> String {
    String::from_utf8(run(&["hash", mid], settings).stdout).expect("UTF-8").trim().to_owned()
}

#[tokio::test]
async fn a_call_is_logged_with_its_source_and_the_hash_of_the_user() {
    let settings = [("log.format", "json"), ("log.mid_key", "a key")];
    let gateway = TestGateway::with(&settings);
    let control = gateway.control();
    control.post("/v1/kick", &json!({"mid": "42"})).await;
    control.post("/v1/erase", &json!({"mid": 43})).await;
    control.post("/v1/kick", &json!({"mid": "x\ny"})).await;
    control.get("/v1/export?mid=44&limit=1").await;
    control.delete("/v1/revoke?mid=45").await;
    control.get("/v1/events").await;
    Http::to(gateway.control_address()).get("/v1/export?mid=46").await;
    control.clone().host("evil.example").get("/v1/export?mid=47").await;
    let expected = [
        ("POST", "/v1/kick", 204, Some("42")),
        ("POST", "/v1/erase", 204, Some("43")),
        ("POST", "/v1/kick", 400, None),
        ("GET", "/v1/export", 200, Some("44")),
        ("DELETE", "/v1/revoke", 204, Some("45")),
        ("GET", "/v1/events", 200, None),
        ("GET", "/v1/export", 401, Some("46")),
        ("GET", "/v1/export", 403, Some("47")),
    ];
    let logged = calls(&gateway);
    assert_eq!(logged.len(), expected.len(), "{logged:?}");
    for (line, (method, path, status, mid)) in logged.iter().zip(expected) {
        let found = (&line["method"], &line["path"], &line["status"]);
        assert_eq!(found, (&json!(method), &json!(path), &json!(status)), "{line}");
        let hash = mid.map(|mid| hash(mid, &settings));
        assert_eq!(line.get("user"), hash.map(Value::from).as_ref(), "{line}");
        assert_eq!(line.get("mid"), None, "{line}");
        assert!(line["source"].as_str().is_some_and(|source| source.starts_with("127.0.0.1:")), "{line}");
    }
}

#[tokio::test]
async fn input_of_a_caller_cannot_forge_a_log_line() {
    let gateway = TestGateway::start();
    gateway.control().get("/v1/export?mid=42%0Aforged%20line").await;
    gateway.control().get("/v1/forged%0Aline").await;
    let log = gateway.log();
    assert!(log.lines().any(|line| line.contains("path=\"/v1/forged%0Aline\"")), "{log}");
    assert!(!log.lines().any(|line| line.starts_with("line") || line.contains("forged line")), "{log}");
}

#[tokio::test]
async fn what_an_operator_does_to_a_user_is_logged_as_an_event_with_the_hash() {
    let settings = [("log.format", "json"), ("log.mid_key", "a key")];
    let gateway = TestGateway::with(&settings);
    let control = gateway.control();
    control.post("/v1/kick", &json!({"mid": "42"})).await;
    control.post("/v1/erase", &json!({"mid": "42"})).await;
    control.post("/v1/revoke", &json!({"mid": "42"})).await;
    control.delete("/v1/revoke?mid=42").await;
    control.post("/v1/revoke", &json!({"jti": "a token of 42"})).await;
    control.delete("/v1/views/1/7").await;
    let hash = hash("42", &settings);
    let log = gateway.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let users = |event: &str| -> Vec<Value> {
        lines.iter().filter(|line| line["event"] == event).map(|line| line["user"].clone()).collect()
    };
    for event in ["kicked", "erased", "revocation_removed"] {
        assert_eq!(users(event), [json!(hash)], "{event}: {log}");
    }
    assert_eq!(users("revoked"), [json!(hash), Value::Null], "{log}");
    // On Redis views need a statistics store.
    assert_eq!(users("views_deleted").len(), usize::from(!gateway.is_on_redis()), "{log}");
    let id = |line: &&Value| line.to_string().contains("\"42\"") || line.to_string().contains("of 42");
    assert_eq!(lines.iter().find(id), None, "no line has the id");
}

/// A back-end makes them all the time, and may watch live numbers.
#[tokio::test]
async fn steps_and_reads_of_counters_are_logged_at_debug() {
    let counters = r#"[{ id = "likes", max = 1 }]"#;
    for (level, quiet) in [("info", true), ("debug", false)] {
        let gateway = TestGateway::with(&[("log.format", "json"), ("log.level", level), ("counters.direct", counters)]);
        let control = gateway.control();
        assert_eq!(control.post("/v1/counters/likes", &json!({})).await.status, 200);
        assert_eq!(control.post("/v1/counters/likes", &json!({})).await.status, 409, "beyond the bound");
        assert_eq!(control.get("/v1/counters/likes").await.status, 200);
        assert_eq!(control.get("/v1/live").await.status, 200);
        let logged = calls(&gateway);
        assert_eq!(logged.len(), if quiet { 0 } else { 4 }, "{level}: {logged:?}");
        assert_eq!(control.post("/v1/counters/likes", &json!({"by": 0})).await.status, 400);
        assert_eq!(control.delete("/v1/counters/likes").await.status, 204);
        let logged = calls(&gateway);
        let told: Vec<_> = logged.iter().filter(|line| line["level"] == "INFO").map(|line| &line["status"]).collect();
        assert_eq!(told, [&json!(400), &json!(204)], "{level}: {logged:?}");
    }
}

/// Asks for events, of which none comes, and goes away after a while.
async fn ask_and_go(gateway: &TestGateway, after: Duration) {
    let mut stream = TcpStream::connect(gateway.control_address()).await.expect("a connection");
    let head = format!(
        "GET /v1/events?wait=20000 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {CONTROL_TOKEN}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("it is read");
    tokio::time::sleep(after).await;
}

/// What it asked for may be done all the same. A client that has gone before its request was read asked for nothing, so
/// each one stays longer than the one before.
#[tokio::test]
async fn a_call_whose_client_has_gone_is_logged() {
    let gateway = TestGateway::with(&[("log.format", "json")]);
    let (began, mut stay) = (Instant::now(), Duration::from_millis(5));
    while calls(&gateway).is_empty() {
        assert!(began.elapsed() < PATIENCE, "no line");
        ask_and_go(&gateway, stay).await;
        stay *= 2;
    }
    let line = &calls(&gateway)[0];
    assert_eq!((&line["path"], &line["level"]), (&json!("/v1/events"), &json!("WARN")));
}
