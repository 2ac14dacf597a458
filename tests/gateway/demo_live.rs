//! The live numbers, for the demo's page.

use serde_json::json;

use crate::support::{LiveStream, MID, NEVER, TestGateway, beat};

const PATH: &str = "/demo/live/stream";

async fn open(gateway: &TestGateway) -> LiveStream {
    LiveStream::open(gateway.address(), PATH, &[]).await
}

#[tokio::test]
async fn the_live_page_shows_the_numbers_of_the_control_listener() {
    let gateway = TestGateway::with(&[("live.timeout", NEVER)]);
    let page = gateway.anonymous_http().get("/demo/live/").await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let mut stream = open(&gateway).await;
    assert_eq!(stream.field("retry: ").await, "2000");
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    client.watch([beat(100, now)]).await;
    let mut event = stream.event().await;
    while event["sessions"] == 0 {
        event = stream.event().await;
    }
    assert_eq!((&event["users"], &event["top"]["top"][0]["oid"]), (&json!(1), &json!("100")));
}

#[tokio::test]
async fn a_stream_outlives_the_time_limit_of_requests() {
    let gateway = TestGateway::with(&[("server.request_timeout", "1s"), ("server.handshake_timeout", "1s")]);
    let mut stream = open(&gateway).await;
    let at = stream.event().await["at"].as_u64().expect("a time");
    while stream.event().await["at"].as_u64().expect("a time") < at + 4_000 {}
}

#[tokio::test]
async fn streams_of_both_listeners_share_one_limit() {
    let gateway = TestGateway::with(&[("live.streams", "1")]);
    let stream = open(&gateway).await;
    gateway.anonymous_http().get(PATH).await.problem(503, "unavailable");
    gateway.control().get("/v1/live/stream").await.problem(503, "unavailable");
    drop(stream);
    gateway.wait_for_metric("heartline_live_streams", |open| open == 0.0).await;
    open(&gateway).await.event().await;
}

/// Not only when its time is over.
#[tokio::test]
async fn a_drain_ends_streams_at_once() {
    let mut gateway = TestGateway::with(&[("server.drain_timeout", NEVER)]);
    let mut stream = open(&gateway).await;
    stream.event().await;
    gateway.terminate();
    stream.ended().await;
    assert!(gateway.ended().await.success());
}

#[tokio::test]
async fn other_pages_and_queries_get_no_stream() {
    let gateway = TestGateway::start();
    let http = gateway.anonymous_http();
    let other_page = http.clone().header("origin", "https://evil.example").get(PATH).await;
    other_page.problem(403, "unauthorized");
    http.get(&format!("{PATH}?limit=1")).await.problem(400, "invalid");
}
