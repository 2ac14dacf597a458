//! The widget's answers over a board that the test fills.

use std::net::IpAddr;

use axum::body::Body;
use http::{Method, StatusCode, response};
use http_body_util::BodyExt;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;
use model::ids::Content;

fn watched(kind: u16, oid: u64, users: u32) -> (Content, u32) {
    (Content { kind, oid }, users)
}

fn board() -> Arc<LiveBoard> {
    let board = LiveBoard::new();
    let mut view = LiveView::clone(&board.newest());
    (view.at, view.sessions, view.users, view.widget_users) = (7_000, 1_300, 1_200, 1_000);
    view.widget_top = vec![watched(1, u64::MAX, 900), watched(3, 5, 100), watched(1, 7, 10), watched(1, 8, 9)];
    board.publish(view, Vec::new());
    board
}

fn widget() -> Arc<Widget> {
    let config = WidgetConfig { users_min: 10, per_second: 20 };
    Widget::new(board(), None, config, Metrics::new(&mut Registry::default()))
}

fn request(path: &str, address: &str) -> Request {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = path.parse().expect("a path");
    let address: IpAddr = address.parse().expect("an address");
    request.extensions_mut().insert(ClientAddress(address));
    request
}

async fn sent(widget: &Arc<Widget>, request: Request) -> (response::Parts, Bytes) {
    let Ok(answer) = router(widget.clone()).oneshot(request).await;
    let (head, body) = answer.into_parts();
    (head, body.collect().await.expect("a body").to_bytes())
}

async fn numbers(widget: &Arc<Widget>) -> Value {
    let (head, body) = sent(widget, request("/widget/v1.json?x=1&token=2", "192.0.2.1")).await;
    assert_eq!(head.status, StatusCode::OK, "an unknown query is ignored");
    serde_json::from_slice(&body).expect("JSON")
}

#[tokio::test]
async fn contents_with_few_users_are_left_out() {
    let first = json!({"kind": 1, "oid": "18446744073709551615", "users": 900});
    let (other, last) = (json!({"kind": 3, "oid": "5", "users": 100}), json!({"kind": 1, "oid": "7", "users": 10}));
    let all = json!({"at": 7_000, "watching": 1_000, "top": [first, other, last]});
    assert_eq!(numbers(&widget()).await, all);
}

#[tokio::test]
async fn an_answer_is_encoded_once_for_each_published_view() {
    let widget = widget();
    let made = widget.answers().await.unwrap();
    assert_eq!(widget.answers().await.unwrap().json.as_ptr(), made.json.as_ptr());
    let next = LiveView { at: 8_000, ..LiveView::clone(&widget.board.newest()) };
    widget.board.publish(next, Vec::new());
    assert_eq!(numbers(&widget).await["at"], 8_000);
}

/// How many requests of `address` were served, and the answer to the one that was refused.
async fn until_refused(widget: &Arc<Widget>, paths: &[&str], address: &str) -> (usize, (response::Parts, Bytes)) {
    for served in 0..1_000 {
        let answer = sent(widget, request(paths[served % paths.len()], address)).await;
        if answer.0.status == StatusCode::TOO_MANY_REQUESTS {
            return (served, answer);
        }
    }
    panic!("none of 1,000 requests was refused");
}

#[tokio::test]
async fn each_address_has_a_rate_of_its_own() {
    let widget = widget();
    let paths = ["/widget/v1.json", "/widget/v1.js"];
    // It refills while this goes on.
    let (served, _) = until_refused(&widget, &paths, "2001:db8::1").await;
    assert!(served >= 20, "{served}");
    let (served, (head, body)) = until_refused(&widget, &["/widget/v1.svg"], "2001:db8::2").await;
    assert!(served < 10, "the addresses of one network have one rate; {served} were served");
    assert_eq!(head.headers[header::RETRY_AFTER].as_bytes(), b"1");
    assert_eq!(head.headers[header::ACCESS_CONTROL_ALLOW_ORIGIN], "*");
    assert_eq!(head.headers[header::CACHE_CONTROL], "no-store");
    let problem: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(problem["type"], "/problems/too_fast");
    assert_eq!(sent(&widget, request("/widget/v1.svg", "2001:db8:0:1::1")).await.0.status, StatusCode::OK);
    assert_eq!(sent(&widget, request("/widget/v1.svg", "192.0.2.1")).await.0.status, StatusCode::OK);
}

#[tokio::test]
async fn only_get_and_head_are_answered() {
    for (method, status) in [(Method::HEAD, 200), (Method::POST, 405), (Method::OPTIONS, 405)] {
        let mut request = request("/widget/v1.json", "192.0.2.1");
        *request.method_mut() = method;
        assert_eq!(sent(&widget(), request).await.0.status.as_u16(), status);
    }
}
