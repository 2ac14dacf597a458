//! `/v1/live/stream`: the live numbers of each second, as Server-Sent Events.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::support::{CONTROL_TOKEN, MID, NEVER, TestGateway, beat, in_time};

/// More than the control listener has places.
const CROWD: usize = 100;

struct Stream(BufReader<TcpStream>);

impl Stream {
    /// Its head has been read.
    async fn open(gateway: &TestGateway) -> Self {
        let mut stream = TcpStream::connect(gateway.control_address()).await.expect("a listener");
        let request =
            format!("GET /v1/live/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {CONTROL_TOKEN}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("room");
        let mut stream = Stream(BufReader::new(stream));
        let mut head = Vec::new();
        while head.last().is_none_or(|line: &String| !line.is_empty()) {
            head.push(stream.line().await.to_lowercase());
        }
        assert_eq!(head[0], "http/1.1 200 ok");
        assert!(head.contains(&"content-type: text/event-stream".to_owned()), "{head:?}");
        stream
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = in_time("a line of the stream", self.0.read_line(&mut line)).await;
        assert_ne!(read.expect("a line"), 0, "the stream has ended");
        line.trim_end().to_owned()
    }

    /// The line that begins like this; chunks and other lines are left out.
    async fn field(&mut self, name: &str) -> String {
        loop {
            if let Some(value) = self.line().await.strip_prefix(name) {
                return value.to_owned();
            }
        }
    }

    async fn event(&mut self) -> Value {
        assert_eq!(self.field("event: ").await, "live");
        let data = self.line().await;
        serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON")
    }
}

#[tokio::test]
async fn a_stream_has_one_whole_event_a_second() {
    let gateway = TestGateway::with(&[("live.timeout", NEVER)]);
    let mut stream = Stream::open(&gateway).await;
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
    assert_eq!((&event["series"]["seconds"][59], &event["tail"][0]["oid"]), (&json!(1), &json!("100")));
}

#[tokio::test]
async fn streams_take_no_place_of_the_control_listener() {
    let gateway = TestGateway::start();
    let mut streams = Vec::new();
    for _ in 0..CROWD {
        streams.push(Stream::open(&gateway).await);
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
    let (one, mut other) = (Stream::open(&gateway).await, Stream::open(&gateway).await);
    let refused = gateway.control().get("/v1/live/stream").await;
    refused.problem(503, "unavailable");
    assert_eq!(refused.header("retry-after"), Some("2"));
    drop(one);
    gateway.wait_for_metric("heartline_live_streams", |open| open == 1.0).await;
    Stream::open(&gateway).await.event().await;
    other.event().await;
}

#[tokio::test]
async fn a_drain_ends_streams() {
    let mut gateway = TestGateway::start();
    let _stream = Stream::open(&gateway).await;
    gateway.terminate();
    assert!(gateway.ended().await.success());
}
