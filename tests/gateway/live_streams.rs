//! `/v1/live/stream`: the live numbers of each second, as Server-Sent Events.

use serde_json::{Value, json};

use crate::support::{CONTROL_TOKEN, LiveStream, MID, NEVER, TestGateway, beat};

/// More than the control listener has slots.
const CROWD: usize = 100;

async fn open(gateway: &TestGateway) -> LiveStream {
    let authorization = format!("Bearer {CONTROL_TOKEN}");
    LiveStream::open(gateway.control_address(), "/v1/live/stream", &[("authorization", &authorization)]).await
}

#[tokio::test]
async fn a_stream_has_one_whole_event_a_second() {
    let gateway = TestGateway::with(&[("live.timeout", NEVER)]);
    let mut stream = open(&gateway).await;
    assert_eq!(stream.field("retry: ").await, "2000");
    let first = stream.event().await;
    assert_eq!((&first["users"], &first["sessions"]), (&json!(0), &json!(0)));
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    client.watch([beat(100, now)]).await;
    let mut event = first;
    while event["sessions"] == 0 {
        let next = stream.event().await;
        let second = |event: &Value| event["at"].as_u64().expect("a time") / 1_000;
        assert!(second(&next) > second(&event), "{} after {}", next["at"], event["at"]);
        event = next;
    }
    assert_eq!((&event["users"], &event["sessions"]), (&json!(1), &json!(1)));
    let top = json!({"top": [{"kind": 1, "oid": "100", "sessions": 1}], "error": 0});
    assert_eq!((&event["top"], &event["rising"]), (&top, &top));
    let nothing = json!({"countries": {}, "os": {}, "browsers": {}, "devices": {}});
    assert_eq!(event["shares"], nothing, "the client says nothing of itself");
    assert_eq!((&event["series"]["seconds"][59], &event["tail"][0]["oid"]), (&json!(1), &json!("100")));
}

#[tokio::test]
async fn streams_take_no_slot_of_the_control_listener() {
    let gateway = TestGateway::start();
    let mut streams = Vec::new();
    for _ in 0..CROWD {
        streams.push(open(&gateway).await);
    }
    assert_eq!(gateway.metric("heartline_live_streams").await, CROWD as f64);
    assert_eq!(gateway.control().get("/v1/live").await.status, 200);
    for stream in &mut streams {
        stream.event().await;
    }
    drop(streams);
    gateway.wait_for_metric("heartline_live_streams", |open| open == 0.0).await;
}

#[tokio::test]
async fn more_than_the_configured_streams_are_refused_until_one_ends() {
    let gateway = TestGateway::with(&[("live.streams", "2")]);
    let (one, mut other) = (open(&gateway).await, open(&gateway).await);
    let refused = gateway.control().get("/v1/live/stream").await;
    refused.problem(503, "unavailable");
    assert_eq!(refused.header("retry-after"), Some("2"));
    drop(one);
    gateway.wait_for_metric("heartline_live_streams", |open| open == 1.0).await;
    open(&gateway).await.event().await;
    other.event().await;
}

#[tokio::test]
async fn a_drain_ends_streams() {
    let mut gateway = TestGateway::start();
    let _stream = open(&gateway).await;
    gateway.terminate();
    assert!(gateway.ended().await.success());
}
