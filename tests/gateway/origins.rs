//! Which pages may open a socket.

use crate::support::{MID, TestGateway, Token, Upgrade};

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
