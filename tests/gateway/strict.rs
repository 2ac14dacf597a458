//! A request with anything unknown is refused as a whole, and has no effect.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{MID, RawSocket, TestGateway, Token, beat};

/// Less than that of a refused body which is thrown away.
const DISCARDS: Duration = Duration::from_millis(900);
const ATTEMPTS: usize = 20;

/// What the problem document of a 400 says.
async fn refused(gateway: &TestGateway, method: &str, path: &str) -> String {
    let answer = gateway.http(MID).send(method, path, None).await;
    answer.problem(400, "invalid")["detail"].as_str().expect("a detail").to_owned()
}

async fn answer_to(gateway: &TestGateway, lines: &str, body: &str) -> String {
    let mut socket = RawSocket::connect(gateway.address()).await;
    let token = Token::of(MID).sign();
    socket.write(format!("{lines}Host: here\r\nAuthorization: Bearer {token}\r\n\r\n{body}").as_bytes()).await;
    socket.head_of_answer().await
}

#[tokio::test]
async fn a_delete_that_is_not_understood_deletes_nothing() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    for path in ["/v1/history", "/v1/history/1/100"] {
        for (query, says) in [
            ("at=", "at: "),
            ("connection=", "connection: "),
            ("until=5", "query: unknown field until"),
            ("aat=5", "did you mean at?"),
            ("kinds=1", "query: unknown field kinds"),
            (&format!("at={}&x", at + 1), "query: unknown field x"),
        ] {
            let detail = refused(&gateway, "DELETE", &format!("{path}?{query}")).await;
            assert!(detail.contains(says), "{path}?{query}: {detail}");
        }
        let with_body = Some(("application/json", json!({"at": at}).to_string()));
        let detail = gateway.http(MID).send("DELETE", path, with_body).await.problem(400, "invalid")["detail"].clone();
        assert!(detail.as_str().is_some_and(|detail| detail.starts_with("body: ")), "{detail}");
        let head = format!("DELETE {path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n");
        assert!(answer_to(&gateway, &head, "2\r\n{}\r\n0\r\n\r\n").await.starts_with("HTTP/1.1 400 "));
    }
    assert_eq!(client.position(100).await, Some(10_000));
    assert_eq!(gateway.http(MID).delete("/v1/history/1/100").await.status, 204);
    assert_eq!(client.position(100).await, None);
}

#[tokio::test]
async fn an_unknown_query_field_is_refused_with_the_one_that_was_meant() {
    let gateway = TestGateway::start();
    let detail = refused(&gateway, "GET", "/v1/history?kind=1").await;
    assert_eq!(detail, "query: unknown field kind; did you mean kinds?");
    assert_eq!(
        refused(&gateway, "GET", "/v1/history?size=5").await,
        "query: unknown field size; known: limit, cursor, kinds, finished"
    );
    assert_eq!(refused(&gateway, "GET", "/v1/history?limit=1&limit=2").await, "query: limit is given twice");
    for (method, path) in [
        ("GET", "/v1/history/1/100?at=5"),
        ("GET", "/v1/recording?paused=true"),
        ("GET", "/v1/rewards/today?day=2026-11-20"),
    ] {
        let detail = refused(&gateway, method, path).await;
        assert!(detail.starts_with("query: ") && detail.ends_with("this path takes none"), "{path}: {detail}");
    }
    for (method, path, body) in [
        ("POST", "/v1/beats?flag=2026-11-20", json!({"items": []})),
        ("POST", "/v1/history/get?kind=1", json!({"items": []})),
        ("PUT", "/v1/recording?at=5", json!({"paused": true})),
    ] {
        let body = Some(("application/json", body.to_string()));
        gateway.http(MID).send(method, path, body).await.problem(400, "invalid");
    }
    assert_eq!(gateway.http(MID).get("/v1/recording").await.json(), json!({"paused": false}));
}

#[tokio::test]
async fn control_requests_are_as_strict() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    let control = gateway.control();
    let user = Some(("application/json", json!({"mid": MID.to_string()}).to_string()));
    for (method, path, body) in [
        ("POST", "/v1/erase?dry_run=true", user.clone()),
        ("POST", "/v1/kick?for=60", user.clone()),
        ("POST", "/v1/revoke?until=5", user.clone()),
        ("POST", "/v1/clock/accept", user.clone()),
        ("DELETE", "/v1/revoke?mid=42", user),
        ("DELETE", "/v1/revoke?mid=42&all", None),
        ("GET", "/v1/revoke?mid=42", None),
        ("GET", "/v1/export?mid=42&kind=1", None),
        ("GET", "/v1/events?from=5", None),
    ] {
        control.send(method, path, body).await.problem(400, "invalid");
    }
    assert_eq!(client.position(100).await, Some(10_000));
    assert_eq!(gateway.admin().get("/healthz?from=balancer").await.status, 200);
}

#[tokio::test]
async fn a_control_body_that_is_not_understood_does_nothing() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    for path in ["/v1/erase", "/v1/kick", "/v1/revoke"] {
        for (body, says) in [
            (r#"{"mid":"42","dry_run":true}"#, "body: unknown field dry_run; "),
            (r#"{"mid":"42","mids":["43"]}"#, "body: unknown field mids; did you mean mid?"),
            (r#"{"mid":"42","mid":"42"}"#, "mid: appears twice"),
            (r#"{"mid":"42"} {}"#, "body: is not JSON"),
        ] {
            let sent = Some(("application/json", body.to_owned()));
            let problem = gateway.control().send("POST", path, sent).await.problem(400, "invalid");
            let detail = problem["detail"].as_str().expect("a detail");
            assert!(detail.starts_with(says), "{path} {body}: {detail}");
        }
    }
    assert_eq!(client.position(100).await, Some(10_000));
    assert_eq!(gateway.control().get("/v1/revoke").await.json(), json!({"revocations": []}));
}

#[tokio::test]
async fn a_view_with_a_misspelt_session_is_not_counted() {
    let gateway = TestGateway::embedded(&[("views.by_request", "[3]")]);
    let answer = gateway.http(MID).post("/v1/views/3/100", &json!({"sesion": "1"})).await;
    assert_eq!(answer.problem(400, "invalid")["detail"], "body: unknown field sesion; did you mean session?");
}

#[tokio::test]
async fn what_clients_send_may_have_fields_of_a_later_protocol() {
    let gateway = TestGateway::start();
    let http = gateway.http(MID);
    let items = json!({"items": [{"kind": 1, "oid": "100", "later": 5}], "later": 5});
    assert_eq!(http.post("/v1/history/get", &items).await.json(), json!({"records": [null]}));
    assert_eq!(http.post("/v1/beats", &json!({"items": [], "later": 5})).await.status, 200);
    assert_eq!(http.put("/v1/recording", &json!({"paused": true, "later": 5})).await.status, 200);
}

#[tokio::test]
async fn each_body_is_json_by_its_type_or_has_none() {
    let gateway = TestGateway::embedded(&[]);
    let user = json!({"mid": MID.to_string()}).to_string();
    for (of_control, path, body) in [
        (true, "/v1/kick", user.clone()),
        (true, "/v1/revoke", user.clone()),
        (true, "/v1/erase", user),
        (true, "/v1/subscribers/none/pause", "{}".to_owned()),
        (false, "/v1/history/get", json!({"items": []}).to_string()),
        (false, "/v1/beats", json!({"items": []}).to_string()),
    ] {
        for media_type in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""] {
            let http = if of_control { gateway.control() } else { gateway.http(43) };
            let answer = http.send("POST", path, Some((media_type, body.clone()))).await;
            answer.problem(415, "media_type");
        }
        for media_type in [None, Some("application/json"), Some("Application/JSON; charset=utf-8")] {
            let http = if of_control { gateway.control() } else { gateway.http(43) };
            let answer = http.send_as("POST", path, media_type, body.clone()).await;
            assert_ne!(answer.status, 415, "{path} {media_type:?}: {}", answer.text());
        }
    }
    assert_eq!(gateway.control().get("/v1/revoke").await.json()["revocations"][0]["mid"], MID.to_string());
}

#[tokio::test]
async fn two_tokens_in_the_header_are_refused_whichever_is_good() {
    let gateway = TestGateway::start();
    let token = Token::of(MID).sign();
    for (first, second) in [(token.as_str(), "no-token"), ("no-token", &token), (&token, &token)] {
        let http = gateway.anonymous_http().bearer(first).bearer(second);
        let problem = http.get("/v1/history").await.problem(400, "invalid");
        assert!(problem["detail"].as_str().expect("a detail").starts_with("authorization: "), "{problem}");
        let head = format!(
            "GET /v1/connect HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer {first}\r\n"
        );
        let answer = answer_to(&gateway, &head, "").await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
}

#[tokio::test]
async fn a_websocket_key_is_16_bytes_in_base64() {
    let gateway = TestGateway::start();
    let upgrade = async |keys: &[&str]| {
        let keys: String = keys.iter().map(|key| format!("Sec-WebSocket-Key: {key}\r\n")).collect();
        let head = format!(
            "GET /v1/connect HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n{keys}"
        );
        answer_to(&gateway, &head, "").await
    };
    let good = "dGhlIHNhbXBsZSBub25jZQ==";
    assert!(upgrade(&[good]).await.starts_with("HTTP/1.1 101 "));
    for bad in [
        &[""][..],
        &["x"],
        &["dGhlIHNhbXBsZSBub25jZQ"],
        &["SGVsbG8sIHdvcmxkIQ=="],
        &["dGhlIHNhbXBsZSBub25jZSEh"],
        &["dGhl IHNhbXBsZSBub25jZQ=="],
        &["dGhlIHNhbXBsZSBub25jZ_-="],
        &[good, good],
        &[],
    ] {
        let answer = upgrade(bad).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{bad:?}: {answer}");
    }
}

#[tokio::test]
async fn a_body_announced_too_long_is_refused_before_it_is_sent() {
    let gateway = TestGateway::start();
    let token = Token::of(MID).sign();
    let mut socket = RawSocket::connect(gateway.address()).await;
    let head = |bytes: usize| {
        format!(
            "POST /v1/beats HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {bytes}\r\nExpect: 100-continue\r\n\r\n"
        )
    };
    // The rest of a refused body is discarded for a second, where there may be one. A busy machine may take as long for
    // the answer, but not again and again.
    let mut took = Vec::new();
    while took.iter().all(|took| *took > DISCARDS) {
        assert!(took.len() < ATTEMPTS, "{took:?}");
        socket = RawSocket::connect(gateway.address()).await;
        let started = Instant::now();
        socket.write(head(8 << 20).as_bytes()).await;
        let answer = socket.head_of_answer().await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        took.push(started.elapsed());
    }
    let end = socket.rest().await;
    assert!(end.contains("/problems/too_large"), "the problem, and the end of the connection: {end}");

    let body = json!({"items": []}).to_string();
    let mut socket = RawSocket::connect(gateway.address()).await;
    socket.write(head(body.len()).as_bytes()).await;
    assert!(socket.head_of_answer().await.starts_with("HTTP/1.1 100 "));
    socket.write(body.as_bytes()).await;
    assert!(socket.head_of_answer().await.starts_with("HTTP/1.1 200 "));
}
