//! A stream of live numbers, event by event.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::in_time;

pub struct LiveStream(BufReader<TcpStream>);

impl LiveStream {
    /// Its head has been read.
    pub async fn open(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut stream = TcpStream::connect(address).await.expect("a listener");
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.expect("room");
        let mut stream = LiveStream(BufReader::new(stream));
        let mut head = Vec::new();
        while head.last().is_none_or(|line: &String| !line.is_empty()) {
            head.push(stream.line().await.expect("a head").to_lowercase());
        }
        assert_eq!(head[0], "http/1.1 200 ok");
        assert!(head.contains(&"content-type: text/event-stream".to_owned()), "{head:?}");
        stream
    }

    /// The rest of the line that begins like this; chunks and other lines are left out.
    pub async fn field(&mut self, name: &str) -> String {
        self.next_field(name).await.expect("more of the stream")
    }

    pub async fn event(&mut self) -> Value {
        assert_eq!(self.field("event: ").await, "live");
        let data = self.line().await.expect("a line");
        serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON")
    }

    /// Its end, after what is still to come.
    pub async fn ended(&mut self) {
        in_time("the end of the stream", async { while self.next_field("event: ").await.is_some() {} }).await;
    }

    /// `None`: the stream has ended.
    async fn next_field(&mut self, name: &str) -> Option<String> {
        loop {
            if let Some(value) = self.line().await?.strip_prefix(name) {
                return Some(value.to_owned());
            }
        }
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = in_time("a line of the stream", self.0.read_line(&mut line)).await;
        (read.expect("a line") > 0).then(|| line.trim_end().to_owned())
    }
}
