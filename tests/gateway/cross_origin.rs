//! CORS follows the list of origins, preflight included.

use serde_json::json;

use crate::support::{Answer, Http, MID, TestGateway, Token};

const LISTED: &str = "https://app.example";

fn gateway() -> TestGateway {
    TestGateway::with(&[("server.origins", r#"["https://app.example"]"#)])
}

async fn preflight(gateway: &TestGateway, origin: &str, method: &str, path: &str) -> Answer {
    let http = gateway.anonymous_http().header("origin", origin);
    let http = http.header("access-control-request-method", method);
    let http = http.header("access-control-request-headers", "authorization,content-type");
    http.send("OPTIONS", path, None).await
}

fn from(gateway: &TestGateway, origin: &str) -> Http {
    gateway.http(MID).header("origin", origin)
}

#[tokio::test]
async fn a_listed_origin_may_ask_for_everything() {
    let gateway = gateway();
    for (method, path) in
        [("POST", "/v1/beats"), ("GET", "/v1/history"), ("DELETE", "/v1/history/1/100"), ("PUT", "/v1/recording")]
    {
        let answer = preflight(&gateway, LISTED, method, path).await;
        assert!(matches!(answer.status, 200 | 204), "{}", answer.status);
        assert_eq!(answer.header("access-control-allow-origin"), Some(LISTED));
        let methods = answer.header("access-control-allow-methods").expect("methods");
        assert!(methods.contains(method), "{path}: {methods}");
        let headers = answer.header("access-control-allow-headers").expect("headers").to_lowercase();
        assert!(headers.contains("authorization") && headers.contains("content-type"), "{headers}");
    }
}

#[tokio::test]
async fn an_answer_to_a_listed_origin_may_be_read() {
    let gateway = gateway();
    let answer = from(&gateway, LISTED).post("/v1/beats", &json!({"items": []})).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some(LISTED));
    assert!(answer.header("vary").expect("vary").to_lowercase().contains("origin"));
}

#[tokio::test]
async fn a_listed_origin_may_read_a_refusal() {
    let gateway = gateway();
    let expired = Token::of(MID).expires_in(-60).sign();
    let http = gateway.anonymous_http().bearer(&expired).header("origin", LISTED);
    let answer = http.get("/v1/history").await;
    assert_eq!(answer.status, 401);
    assert_eq!(answer.header("access-control-allow-origin"), Some(LISTED));
}

#[tokio::test]
async fn another_origin_is_allowed_nothing() {
    let gateway = gateway();
    for origin in ["https://evil.example", "http://app.example", "https://app.example:1", "null"] {
        let answer = preflight(&gateway, origin, "POST", "/v1/beats").await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{origin}");
        let answer = from(&gateway, origin).get("/v1/history").await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{origin}");
    }
}

#[tokio::test]
async fn without_a_list_another_origin_is_allowed_nothing() {
    let gateway = TestGateway::start();
    let answer = preflight(&gateway, LISTED, "POST", "/v1/beats").await;
    assert_eq!(answer.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn a_request_without_an_origin_is_served() {
    let gateway = gateway();
    assert_eq!(gateway.http(MID).get("/v1/history").await.status, 200);
}

#[tokio::test]
async fn asking_about_an_origin_opens_nothing_else() {
    let gateway = gateway();
    let evil = "https://evil.example";
    assert_eq!(from(&gateway, evil).get("/v1/origin").await.status, 200);
    for path in ["/v1/history", "/v1/origin/", "/v1/origin/x"] {
        let answer = from(&gateway, evil).get(path).await;
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (403, None), "{path}");
    }
}
