//! Whole exchanges: a frame and what answers it.

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::{Beat, TestClient, beats};

impl<S: AsyncRead + AsyncWrite + Unpin> TestClient<S> {
    /// The body of the `result`.
    pub async fn call(&mut self, operation: Value) -> Value {
        let seq = self.send(operation).await;
        let mut answer = self.answer(seq).await;
        assert!(answer["result"].is_object(), "expected a result, got {answer}");
        answer["result"].take()
    }

    /// The body of the `error`.
    pub async fn refused(&mut self, operation: Value) -> Value {
        let seq = self.send(operation).await;
        let mut answer = self.answer(seq).await;
        assert!(answer["error"].is_object(), "expected an error, got {answer}");
        answer["error"].take()
    }

    /// Sends one frame of beats, waits for its ack, and returns its rejections.
    pub async fn beats(&mut self, items: impl IntoIterator<Item = Beat>) -> Vec<Value> {
        let seq = self.send(beats(items)).await;
        self.acked(seq).await.rejected
    }

    /// Beats that must all be accepted.
    pub async fn watch(&mut self, items: impl IntoIterator<Item = Beat>) {
        let rejected = self.beats(items).await;
        assert!(rejected.is_empty(), "rejected: {rejected:?}");
    }

    /// The record of content (1, `oid`), null when there is none.
    pub async fn record(&mut self, oid: u64) -> Value {
        let items = json!([{"kind": 1, "oid": oid.to_string()}]);
        let mut result = self.call(json!({"get": {"items": items}})).await;
        result["records"][0].take()
    }

    pub async fn position(&mut self, oid: u64) -> Option<u64> {
        self.record(oid).await["pos"].as_u64()
    }

    /// The oids of one `list`, in its order.
    pub async fn listed(&mut self, list: Value) -> Vec<u64> {
        let result = self.call(json!({ "list": list })).await;
        let records = result["records"].as_array().expect("records");
        let oid = |record: &Value| record["oid"].as_str().expect("an oid").parse().expect("digits");
        records.iter().map(oid).collect()
    }

    pub async fn delete(&mut self, oid: u64, at: u64) {
        let items = json!([{"kind": 1, "oid": oid.to_string()}]);
        self.call(json!({"delete": {"items": items, "at": at}})).await;
    }

    pub async fn clear(&mut self, at: u64) {
        self.call(json!({"clear": {"at": at}})).await;
    }

    /// Switches recording and returns the state after it.
    pub async fn pause_recording(&mut self, paused: bool, at: u64) -> Value {
        let mut result = self.call(json!({"recording": {"paused": paused, "at": at}})).await;
        result["recording"].take()
    }

    /// A round trip: the connection is alive and serves.
    pub async fn still_serves(&mut self) {
        self.record(u64::MAX).await;
    }

    /// Closes as a client does, and returns what the gateway answers.
    pub async fn close(&mut self, code: u16) -> u16 {
        let frame = CloseFrame { code: code.into(), reason: "".into() };
        self.send_message(Message::Close(Some(frame))).await;
        self.closed().await
    }
}
