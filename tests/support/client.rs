//! A client of the published protocol: JSON values over a real socket.

use std::collections::VecDeque;
use std::future::Future;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::PATIENCE;

const LOOK_EVERY: Duration = Duration::from_millis(10);

pub struct TestClient<S = TcpStream> {
    socket: WebSocketStream<S>,
    /// Frames that came while something else was waited for.
    inbox: VecDeque<Value>,
    last_seq: u32,
    welcome: Value,
    welcomed_at: Instant,
    pings: usize,
    protocol: Option<String>,
}

/// What is known once an ack covers a frame.
#[derive(Debug)]
pub struct Acked {
    /// The rejections of every ack up to it, in the order they came.
    pub rejected: Vec<Value>,
    /// The `ack` frame that covered it.
    pub last: Value,
}

enum Incoming {
    Frame(Value),
    /// The close code and its reason, none for a bare TCP end, 1005 for a close frame without a code.
    Closed(Option<(u16, String)>),
}

pub async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not come within {PATIENCE:?}"),
    }
}

/// Looks again and again until it holds.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let looks = async {
        while !holds().await {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    in_time(what, looks).await;
}

/// `(index, reason)` of each rejection.
pub fn reasons(rejected: &[Value]) -> Vec<(u64, &str)> {
    let of = |one: &Value| one["index"].as_u64().expect("an index");
    rejected.iter().map(|one| (of(one), one["reason"].as_str().expect("a reason"))).collect()
}

impl TestClient<TcpStream> {
    /// Goes without a word, as a process that was killed: the gateway gets a reset.
    pub fn reset(self) {
        self.socket.get_ref().set_zero_linger().expect("a socket option");
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TestClient<S> {
    pub fn over(socket: WebSocketStream<S>, protocol: Option<String>) -> Self {
        Self {
            socket,
            inbox: VecDeque::new(),
            last_seq: 0,
            welcome: Value::Null,
            welcomed_at: Instant::now(),
            pings: 0,
            protocol,
        }
    }

    /// The subprotocol the gateway selected.
    pub fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    pub fn welcome(&self) -> &Value {
        assert!(self.welcome.is_object(), "no welcome yet");
        &self.welcome
    }

    pub fn connection(&self) -> &str {
        self.welcome()["connection"].as_str().expect("a connection id")
    }

    /// The server's clock, as a client is told to keep it.
    pub fn now(&self) -> u64 {
        let since = self.welcomed_at.elapsed().as_millis() as u64;
        self.welcome()["now"].as_u64().expect("welcome.now") + since
    }

    /// Pings seen so far; each was answered.
    pub fn pings(&self) -> usize {
        self.pings
    }

    pub fn last_seq(&self) -> u32 {
        self.last_seq
    }

    // Sending

    pub async fn send(&mut self, operation: Value) -> u32 {
        let seq = self.last_seq + 1;
        self.send_as(seq, operation).await;
        seq
    }

    pub async fn send_as(&mut self, seq: u32, mut operation: Value) {
        operation["seq"] = json!(seq);
        self.last_seq = seq;
        self.send_text(&operation.to_string()).await;
    }

    pub async fn send_text(&mut self, text: &str) {
        self.send_message(Message::text(text)).await;
    }

    pub async fn send_message(&mut self, message: Message) {
        in_time("room to send", self.socket.send(message)).await.expect("the socket takes a frame");
    }

    /// As `send_message`, on a socket that may be closing already.
    pub async fn try_send_text(&mut self, text: &str) -> Result<(), Error> {
        in_time("room to send", self.socket.send(Message::text(text))).await
    }

    // Waiting

    pub async fn wait_for_welcome(&mut self) -> Value {
        let frame = self.next().await;
        assert!(frame["welcome"].is_object(), "expected a welcome, got {frame}");
        self.welcomed_at = Instant::now();
        self.welcome = frame["welcome"].clone();
        self.welcome.clone()
    }

    /// The next frame, whatever it is.
    pub async fn next(&mut self) -> Value {
        self.wait_for("a frame", |_| true).await
    }

    /// The first frame that matches; the others stay for later.
    pub async fn wait_for(&mut self, what: &str, matches: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.inbox.iter().position(&matches) {
            return self.inbox.remove(index).expect("just found");
        }
        let search = async {
            loop {
                match read(&mut self.socket, &mut self.pings).await {
                    Incoming::Frame(frame) if matches(&frame) => return frame,
                    Incoming::Frame(frame) => self.inbox.push_back(frame),
                    Incoming::Closed(closing) => {
                        let kept = &self.inbox;
                        panic!("closed with {closing:?} while waiting for {what}; kept: {kept:?}")
                    }
                }
            }
        };
        in_time(what, search).await
    }

    /// The `result` or `error` frame that answers `seq`.
    pub async fn answer(&mut self, seq: u32) -> Value {
        let answers = |frame: &Value| frame["result"]["seq"] == json!(seq) || frame["error"]["seq"] == json!(seq);
        self.wait_for(&format!("the answer to {seq}"), answers).await
    }

    pub async fn error(&mut self) -> Value {
        self.wait_for("an error", |frame| frame["error"].is_object()).await["error"].take()
    }

    pub async fn push(&mut self) -> Value {
        self.wait_for("a push", |frame| frame["push"].is_object()).await["push"].take()
    }

    /// The record of the next push, which must be one.
    pub async fn pushed_record(&mut self) -> Value {
        let push = self.push().await;
        assert!(push["record"].is_object(), "expected a record, got {push}");
        push["record"].clone()
    }

    /// Pushes that have been read and not been asked for.
    pub fn pushes_kept(&self) -> Vec<&Value> {
        self.kept("push")
    }

    /// The bodies of all frames of this name that have been read and not been asked for.
    pub fn kept(&self, name: &str) -> Vec<&Value> {
        self.inbox.iter().filter_map(|frame| frame.get(name)).collect()
    }

    pub async fn acked(&mut self, seq: u32) -> Acked {
        let mut rejected = Vec::new();
        loop {
            let mut frame = self.wait_for("an ack", |frame| frame["ack"].is_object()).await;
            let last = frame["ack"].take();
            rejected.extend(last["rejected"].as_array().into_iter().flatten().cloned());
            if last["seq"].as_u64().expect("ack.seq") >= u64::from(seq) {
                return Acked { rejected, last };
            }
        }
    }

    /// The close code; what came before it stays for later. 1005 stands for a close frame without a code.
    pub async fn closed(&mut self) -> u16 {
        self.closed_because().await.0
    }

    /// As `closed`, with the reason of the close frame.
    pub async fn closed_because(&mut self) -> (u16, String) {
        let search = async {
            loop {
                match read(&mut self.socket, &mut self.pings).await {
                    Incoming::Frame(frame) => self.inbox.push_back(frame),
                    Incoming::Closed(closing) => return closing,
                }
            }
        };
        in_time("a close frame", search).await.expect("a close frame before the end of the stream")
    }

    /// Whether a frame comes before the end.
    pub async fn answered_or_closed(&mut self) -> bool {
        let read = read(&mut self.socket, &mut self.pings);
        matches!(in_time("a frame or the end", read).await, Incoming::Frame(_))
    }

    /// Everything that was read before the socket closed and not been asked for.
    pub fn frames_kept(&mut self) -> Vec<Value> {
        self.inbox.drain(..).collect()
    }
}

async fn read<S: AsyncRead + AsyncWrite + Unpin>(socket: &mut WebSocketStream<S>, pings: &mut usize) -> Incoming {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => {
                let frame: Value = serde_json::from_str(&text).expect("frames are JSON");
                let names = frame.as_object().expect("frames are objects").len();
                assert_eq!(names, 1, "a server frame is exactly one thing: {frame}");
                return Incoming::Frame(frame);
            }
            Some(Ok(Message::Close(frame))) => {
                let closing = frame.map(|frame| (frame.code.into(), frame.reason.to_string()));
                return Incoming::Closed(Some(closing.unwrap_or((1005, String::new()))));
            }
            Some(Ok(Message::Ping(_))) => *pings += 1,
            Some(Ok(Message::Pong(_))) => {}
            Some(Ok(other)) => panic!("a JSON socket carried {other:?}"),
            Some(Err(_)) | None => return Incoming::Closed(None),
        }
    }
}
