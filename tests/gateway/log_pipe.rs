//! Standard error may be a pipe that is not read: the gateway serves all the same, and says what is missing in its log.

use std::io::{BufRead, BufReader, PipeReader};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{MID, NEVER, TestClient, TestGateway, in_time, until};

/// What a pipe takes that is not read.
const PIPE_BYTES: usize = 64 << 10;

/// Reads the pipe from now on.
struct Reading {
    text: Arc<Mutex<String>>,
    thread: JoinHandle<()>,
}

impl Reading {
    fn of(pipe: PipeReader) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let read = text.clone();
        let thread = thread::spawn(move || {
            for line in BufReader::new(pipe).lines() {
                *read.lock().expect("no panic") += &(line.expect("UTF-8") + "\n");
            }
        });
        Reading { text, thread }
    }

    fn has(&self, said: &str) -> bool {
        self.text.lock().expect("no panic").contains(said)
    }

    /// All lines, when the gateway has ended.
    fn lines(self) -> Vec<Value> {
        self.thread.join().expect("no panic");
        let text = self.text.lock().expect("no panic");
        assert!(text.len() > PIPE_BYTES, "the pipe was never full");
        text.lines().map(|line| serde_json::from_str(line).expect("a whole line of JSON")).collect()
    }
}

fn count(lines: &[Value], event: &str) -> usize {
    lines.iter().filter(|line| line["event"] == event).count()
}

/// 200 users come and go, which leaves more lines than the pipe takes. Another one stays.
async fn crowd(gateway: &TestGateway) -> TestClient {
    for user in 0..200 {
        gateway.connect(MID + user).await.close(1000).await;
    }
    let mut client = gateway.connect(MID).await;
    let answer = client.call(json!({"get": {"items": [{"kind": 1, "oid": "100"}]}})).await;
    assert_eq!(answer["records"], json!([null]));
    client
}

#[tokio::test]
async fn a_gateway_whose_log_is_not_read_serves_and_ends() {
    let (mut gateway, pipe) = TestGateway::with_piped_log(&[("log.format", "json")]);
    let _client = crowd(&gateway).await;
    assert_eq!(gateway.http(MID).get("/v1/history").await.status, 200);
    assert_eq!(gateway.control().get("/v1/clock").await.status, 200);
    assert_eq!(gateway.admin().get("/readyz").await.status, 200);
    gateway.terminate();
    gateway.wait_for_drain().await;
    // What waits is written at the end, if it is read by then.
    let log = Reading::of(pipe);
    assert_eq!(gateway.ended().await.code(), Some(0));
    let lines = log.lines();
    assert_eq!((count(&lines, "connected"), count(&lines, "disconnected")), (201, 201));
    assert_eq!(lines.last().expect("a line")["event"], "stopped");
}

#[tokio::test]
async fn a_gateway_whose_log_is_never_read_ends_all_the_same() {
    let (mut gateway, _pipe) = TestGateway::with_piped_log(&[("log.format", "json")]);
    let _client = crowd(&gateway).await;
    gateway.terminate();
    assert_eq!(gateway.ended().await.code(), Some(0));
}

#[tokio::test]
async fn a_gateway_whose_log_is_never_read_ends_at_the_second_signal() {
    let settings = [("log.format", "json"), ("server.lame_duck", NEVER)];
    let (mut gateway, _pipe) = TestGateway::with_piped_log(&settings);
    let _client = crowd(&gateway).await;
    gateway.terminate();
    gateway.wait_for_drain().await;
    gateway.terminate();
    assert_eq!(gateway.ended().await.code(), Some(128 + 15));
}

/// So many requests on one connection, each of which leaves a line.
async fn requests(gateway: &TestGateway, count: usize) {
    let mut socket = TcpStream::connect(gateway.address()).await.expect("a connection");
    let request = format!("GET /v1/nowhere HTTP/1.1\r\nhost: {}\r\n\r\n", gateway.address());
    let last = request.replace("host:", "connection: close\r\nhost:");
    let (mut reading, mut writing) = socket.split();
    let ask = async {
        writing.write_all(request.repeat(count - 1).as_bytes()).await.expect("a connection");
        writing.write_all(last.as_bytes()).await.expect("a connection");
    };
    let mut answers = Vec::new();
    let (_, read) = in_time("answers to all", async { tokio::join!(ask, reading.read_to_end(&mut answers)) }).await;
    read.expect("a connection");
    assert_eq!(String::from_utf8_lossy(&answers).matches("HTTP/1.1 404").count(), count);
}

#[tokio::test]
async fn lines_that_find_no_room_are_counted_and_the_log_says_so_when_it_goes_on() {
    let settings = [("log.format", "json"), ("log.level", "debug")];
    let (mut gateway, pipe) = TestGateway::with_piped_log(&settings);
    assert_eq!(gateway.metric("heartline_log_dropped_total").await, 0.0);
    requests(&gateway, 8_000).await;
    let dropped = gateway.metric("heartline_log_dropped_total").await;
    assert!(dropped > 0.0, "more than may wait");
    let log = Reading::of(pipe);
    until("the line about the gap", async || log.has("log_dropped")).await;
    requests(&gateway, 1).await;
    gateway.terminate();
    assert_eq!(gateway.ended().await.code(), Some(0));
    let lines = log.lines();
    let said: Vec<_> = lines.iter().filter(|line| line["event"] == "log_dropped").collect();
    assert_eq!(said.iter().filter_map(|line| line["lines"].as_f64()).sum::<f64>(), dropped, "{said:?}");
    assert_eq!(count(&lines, "request") + dropped as usize, 8_001);
    assert_eq!(lines.last().expect("a line")["event"], "stopped");
}
