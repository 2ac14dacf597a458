//! What goes wrong over HTTP is an RFC 9457 problem document.

use serde_json::json;

use crate::support::{MID, RawSocket, TestGateway, Token};

#[tokio::test]
async fn without_a_good_token_everything_is_a_401_that_says_how() {
    let gateway = TestGateway::start();
    let expired = Token::of(MID).expires_in(-60).sign();
    let strangers = [
        gateway.anonymous_http(),
        gateway.anonymous_http().bearer("no-token"),
        gateway.anonymous_http().bearer(&expired),
        gateway.anonymous_http().header("authorization", "Basic NDI6NDI="),
    ];
    let empty = json!({"items": []}).to_string();
    for http in strangers {
        for (method, path) in [
            ("POST", "/v1/beats"),
            ("GET", "/v1/history"),
            ("DELETE", "/v1/history"),
            ("POST", "/v1/history/get"),
            ("GET", "/v1/history/1/100"),
            ("DELETE", "/v1/history/1/100"),
            ("GET", "/v1/recording"),
            ("PUT", "/v1/recording"),
        ] {
            let with_body = matches!(method, "POST" | "PUT");
            let body = with_body.then(|| ("application/json", empty.clone()));
            let answer = http.send(method, path, body).await;
            answer.problem(401, "unauthorized");
            let challenge = answer.header("www-authenticate").expect("a challenge");
            assert!(challenge.starts_with("Bearer"), "{method} {path}: {challenge}");
        }
    }
}

#[tokio::test]
async fn an_unknown_path_is_a_404() {
    let gateway = TestGateway::start();
    for path in ["/v1", "/v1/nothing", "/v2/beats", "/v1/history/1", "/v1/history/1/2/3"] {
        gateway.http(MID).get(path).await.problem(404, "not_found");
    }
}

#[tokio::test]
async fn a_wrong_method_is_a_405_that_names_the_right_ones() {
    let gateway = TestGateway::start();
    for (method, path) in [
        ("GET", "/v1/beats"),
        ("POST", "/v1/history"),
        ("PUT", "/v1/history/1/100"),
        ("DELETE", "/v1/recording"),
        ("DELETE", "/v1/history/get"),
    ] {
        let answer = gateway.http(MID).send(method, path, None).await;
        answer.problem(405, "method");
        assert!(answer.header("allow").is_some(), "{method} {path}");
    }
}

#[tokio::test]
async fn a_body_over_the_size_is_a_413() {
    let gateway = TestGateway::start();
    let body = json!({"items": [], "padding": "x".repeat(8 << 20)});
    gateway.http(MID).post("/v1/beats", &body).await.problem(413, "too_large");
    let again = json!({"items": []});
    gateway.http(MID).post("/v1/beats", &again).await.json();
}

#[tokio::test]
async fn a_body_that_is_no_json_by_its_type_is_a_415() {
    let gateway = TestGateway::start();
    let http = gateway.http(MID);
    let body = json!({"items": []}).to_string();
    for (method, path) in [("POST", "/v1/beats"), ("POST", "/v1/history/get"), ("PUT", "/v1/recording")] {
        for media_type in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"] {
            let body = Some((media_type, body.clone()));
            http.send(method, path, body).await.problem(415, "media_type");
        }
    }
    let with_charset = Some(("application/json; charset=utf-8", body));
    http.send("POST", "/v1/beats", with_charset).await.json();
}

#[tokio::test]
async fn a_body_that_is_no_json_is_a_400() {
    let gateway = TestGateway::start();
    for text in ["", "{", "not JSON", "[]", "5", "null"] {
        let body = Some(("application/json", text.to_owned()));
        gateway.http(MID).send("POST", "/v1/beats", body).await.problem(400, "invalid");
    }
}

#[tokio::test]
async fn a_body_that_is_not_utf_8_is_a_400() {
    let gateway = TestGateway::start();
    let mut socket = RawSocket::connect(gateway.address()).await;
    let token = Token::of(MID).sign();
    let head = format!(
        "POST /v1/beats HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: 17\r\n\r\n"
    );
    socket.write(&[head.as_bytes(), b"{\"items\":[\"\xff\xfe\"]} "].concat()).await;
    let answer = socket.rest().await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

#[tokio::test]
async fn a_refused_upgrade_is_a_problem_too() {
    let gateway = TestGateway::start();
    let refusal = gateway.upgrade().bearer("no-token").refused().await;
    assert_eq!(refusal.headers.get("content-type").expect("a type"), "application/problem+json");
}

#[tokio::test]
async fn a_token_in_the_url_is_a_400_problem() {
    let gateway = TestGateway::start();
    gateway.http(MID).get("/v1/history?limit=5&token=abc").await.problem(400, "invalid");
}

#[tokio::test]
async fn no_refusal_is_to_be_kept() {
    let gateway = TestGateway::start();
    for (method, path) in [("GET", "/v1/connect"), ("POST", "/v1/connect"), ("GET", "/v1/nowhere")] {
        let answer = gateway.http(MID).send(method, path, None).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{method} {path}");
    }
}
