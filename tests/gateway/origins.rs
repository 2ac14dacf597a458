//! Which pages may open a socket, and how one learns that it may not.

use serde_json::json;

use crate::support::{Answer, MID, TestGateway, Token, Upgrade};

fn from(gateway: &TestGateway, origin: &str) -> Upgrade {
    gateway.upgrade().bearer(&Token::of(MID).sign()).origin(origin)
}

#[tokio::test]
async fn without_a_list_only_the_same_host_may_connect() {
    let gateway = TestGateway::start();
    from(&gateway, &format!("http://{}", gateway.address())).welcomed().await;
    let lookalike = format!("http://{}.evil.example", gateway.address());
    for origin in ["http://evil.example", "https://localhost", "null", "", &lookalike] {
        assert_eq!(from(&gateway, origin).refused().await.status, 403, "{origin}");
    }
}

#[tokio::test]
async fn with_a_list_an_origin_must_be_on_it_exactly() {
    let gateway = TestGateway::with(&[("server.origins", r#"["https://app.example"]"#)]);
    from(&gateway, "https://app.example").welcomed().await;
    let same_host = format!("http://{}", gateway.address());
    for origin in [
        "http://app.example",
        "https://app.example:8443",
        "https://app.example.evil.example",
        "https://www.app.example",
        "null",
        &same_host,
    ] {
        assert_eq!(from(&gateway, origin).refused().await.status, 403, "{origin}");
    }
}

#[tokio::test]
async fn null_is_allowed_where_it_is_listed() {
    let gateway = TestGateway::with(&[("server.origins", r#"["https://app.example","null"]"#)]);
    from(&gateway, "null").welcomed().await;
}

/// Apps on TVs and boxes are pages of such an origin.
#[tokio::test]
async fn a_page_from_a_file_is_allowed_where_file_is_listed() {
    let gateway = TestGateway::with(&[("server.origins", r#"["https://app.example","file://"]"#)]);
    from(&gateway, "file://").welcomed().await;
    assert_eq!(told(&gateway, Some("file://")).await.json(), json!({"origin": "file://", "allowed": true}));
    for origin in ["null", "file:", "file:///app/index.html", "file://evil.example"] {
        assert_eq!(from(&gateway, origin).refused().await.status, 403, "{origin}");
    }
    let gateway = TestGateway::with(&[("server.origins", r#"["https://app.example"]"#)]);
    assert_eq!(from(&gateway, "file://").refused().await.status, 403);
}

#[tokio::test]
async fn an_app_without_an_origin_is_allowed() {
    let gateway = TestGateway::with(&[("server.origins", r#"["https://app.example"]"#)]);
    gateway.connect(MID).await;
}

#[tokio::test]
async fn an_origin_is_the_same_with_and_without_its_default_port() {
    let listed = r#"["https://app.example:443","http://plain.example"]"#;
    let gateway = TestGateway::with(&[("server.origins", listed)]);
    for origin in ["https://app.example", "https://app.example:443", "http://plain.example:80"] {
        from(&gateway, origin).welcomed().await;
    }
    for origin in ["https://app.example:80", "http://app.example:443", "http://plain.example:443"] {
        assert_eq!(from(&gateway, origin).refused().await.status, 403, "{origin}");
    }
    let gateway = TestGateway::start();
    for (host, origin) in [
        ("tv.example", "https://tv.example:443"),
        ("tv.example:443", "https://tv.example"),
        ("tv.example:80", "http://tv.example"),
        ("[::1]", "http://[::1]:80"),
    ] {
        from(&gateway, origin).header("host", host).welcomed().await;
    }
    for (host, origin) in [("tv.example:80", "https://tv.example"), ("tv.example", "https://tv.example:80")] {
        assert_eq!(from(&gateway, origin).header("host", host).refused().await.status, 403, "{origin} at {host}");
    }
}

/// What the gateway tells a page of its own origin. Any page may read it.
async fn told(gateway: &TestGateway, origin: Option<&str>) -> Answer {
    let http = gateway.anonymous_http();
    let http = match origin {
        Some(origin) => http.header("origin", origin),
        None => http,
    };
    let answer = http.get("/v1/origin").await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{origin:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{origin:?}");
    answer
}

#[tokio::test]
async fn any_page_is_told_whether_its_origin_is_allowed() {
    let gateway = TestGateway::with(&[("server.origins", r#"["https://app.example"]"#)]);
    for (origin, allowed) in [
        ("https://app.example", true),
        ("https://app.example:443", true),
        ("https://evil.example", false),
        ("http://app.example", false),
        ("null", false),
    ] {
        let answer = told(&gateway, Some(origin)).await.json();
        assert_eq!(answer, json!({"origin": origin, "allowed": allowed}));
        // The socket's handshake judges alike.
        match allowed {
            true => drop(from(&gateway, origin).welcomed().await),
            false => assert_eq!(from(&gateway, origin).refused().await.status, 403, "{origin}"),
        }
    }
    assert_eq!(told(&gateway, None).await.json(), json!({"origin": null, "allowed": true}));
}

#[tokio::test]
async fn without_a_list_a_page_of_the_same_host_is_told_that_it_is_allowed() {
    let gateway = TestGateway::start();
    let same_host = format!("http://{}", gateway.address());
    assert_eq!(told(&gateway, Some(&same_host)).await.json(), json!({"origin": same_host, "allowed": true}));
    let other = "http://evil.example";
    assert_eq!(told(&gateway, Some(other)).await.json(), json!({"origin": other, "allowed": false}));
}

#[tokio::test]
async fn two_origins_are_none_and_not_allowed() {
    let gateway = TestGateway::with(&[("server.origins", r#"["https://app.example"]"#)]);
    let http = gateway.anonymous_http().header("origin", "https://app.example").header("origin", "https://app.example");
    assert_eq!(http.get("/v1/origin").await.json(), json!({"origin": null, "allowed": false}));
}

#[tokio::test]
async fn the_question_about_an_origin_is_checked_and_limited_like_others() {
    let gateway = TestGateway::with(&[("limits.frames_per_second", "1"), ("limits.burst", "3")]);
    let page = gateway.anonymous_http().header("origin", "https://evil.example");
    page.get("/v1/origin?from=a").await.problem(400, "invalid");
    let body = Some(("application/json", "{}".to_owned()));
    page.send("GET", "/v1/origin", body).await.problem(400, "invalid");
    let other_method = page.post("/v1/origin", &json!({})).await;
    other_method.problem(405, "method");
    assert_eq!(other_method.header("access-control-allow-origin"), Some("*"));
    let mut often = page.get("/v1/origin").await;
    for _ in 0..50 {
        if often.status == 200 {
            often = page.get("/v1/origin").await;
        }
    }
    often.problem(429, "too_fast");
    assert!(often.header("retry-after").is_some());
    assert_eq!(often.header("access-control-allow-origin"), Some("*"));
    assert_eq!(often.header("access-control-expose-headers"), Some("Retry-After"));
}
