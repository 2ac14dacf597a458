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
