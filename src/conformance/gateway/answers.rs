//! The gateway's answers to frames and requests.

use serde_json::{Value, json};

use super::{Gateway, Read};
use crate::beat::key;
use crate::frame;
use crate::log::What;

impl Gateway {
    /// A text message.
    pub fn text(&self, number: usize, text: &str) {
        let frame: Value = match serde_json::from_str(text) {
            Ok(frame) => frame,
            Err(error) => return self.malformed(number, format!("{error}: {text}")),
        };
        let (is_welcomed, is_leaving) = match self.state.borrow().connections.get(&number) {
            Some(connection) => (connection.is_welcomed, connection.is_leaving),
            None => return,
        };
        if let Err(wrong) = frame::check(&frame) {
            let error = json!({"seq": frame["seq"], "code": "invalid", "message": wrong, "retry": false});
            self.malformed(number, format!("{wrong}: {frame}"));
            return self.send(number, "error", error);
        }
        if !is_welcomed && frame.get("hello").is_none() {
            self.malformed(number, format!("before the welcome: {frame}"));
        }
        self.see(number, What::Frame(frame.clone()));
        if is_welcomed && !is_leaving {
            self.answer(number, &frame);
        }
    }

    fn answer(&self, number: usize, frame: &Value) {
        let Some(seq) = frame["seq"].as_u64() else { return };
        let operation = |name: &str| frame.get(name).filter(|body| body.is_object());
        if let Some(beats) = operation("beats") {
            return self.beats(number, seq, &beats["items"]);
        }
        if let Some(get) = operation("get") {
            let read = Read { connection: number, seq, items: get["items"].clone() };
            if self.state.borrow().behavior.holds_reads {
                return self.state.borrow_mut().reads.push(read);
            }
            return self.answer_read(&read, false);
        }
        if let Some(token) = operation("token").or(operation("hello")).and_then(|body| body["token"].as_str()) {
            return self.renew(number, seq, token);
        }
        let result = if operation("list").is_some() {
            json!({"seq": seq, "records": self.state.borrow().records.all()})
        } else if let Some(delete) = operation("delete") {
            self.delete(&delete["items"]);
            json!({"seq": seq})
        } else if operation("clear").is_some() {
            self.clear();
            json!({"seq": seq})
        } else if let Some(recording) = operation("recording") {
            json!({"seq": seq, "recording": {"paused": recording["paused"]}})
        } else {
            json!({"seq": seq})
        };
        self.send(number, "result", result);
    }

    fn renew(&self, number: usize, seq: u64, token: &str) {
        let Some(token) = self.tokens.find(token).filter(|token| token.user == self.user) else {
            let message = "token.token: bad signature";
            let error = json!({"seq": seq, "code": "unauthorized", "message": message, "retry": false});
            return self.send(number, "error", error);
        };
        if let Some(connection) = self.state.borrow_mut().connections.get_mut(&number) {
            connection.expires = token.expires;
        }
        self.send(number, "result", json!({"seq": seq, "expires": token.expires}));
    }

    fn beats(&self, number: usize, seq: u64, items: &Value) {
        let mut state = self.state.borrow_mut();
        let mut keys = items.as_array().into_iter().flatten().filter_map(key);
        let is_refused = match &state.behavior.refuses {
            Some(refused) => keys.any(|key| refused.contains(&key)),
            None => {
                state.behavior.refuses = Some(keys.collect());
                true
            }
        };
        if is_refused {
            drop(state);
            let message = "beats.items[0].pos: must not be negative";
            let error = json!({"seq": seq, "code": "invalid", "message": message, "retry": false});
            return self.send(number, "error", error);
        }
        if state.behavior.holds_acks {
            return;
        }
        items.as_array().into_iter().flatten().for_each(|beat| state.records.put(beat));
        drop(state);
        self.ack(number, seq, json!({}));
    }

    /// Acks up to a frame, with more in the ack.
    pub fn ack(&self, number: usize, seq: u64, mut ack: Value) {
        ack["seq"] = json!(seq);
        if let Some(flag) = &self.state.borrow().behavior.flag {
            ack["flag"] = json!(flag);
        }
        self.send(number, "ack", ack);
    }

    pub fn delete(&self, items: &Value) {
        let mut state = self.state.borrow_mut();
        items.as_array().into_iter().flatten().for_each(|item| state.records.remove(item));
    }

    pub fn clear(&self) {
        self.state.borrow_mut().records.clear();
    }

    /// Answers the reads that wait.
    pub fn answer_reads(&self, is_partial: bool, newest_first: bool) {
        let mut reads = std::mem::take(&mut self.state.borrow_mut().reads);
        if newest_first {
            reads.reverse();
        }
        for read in reads {
            self.answer_read(&read, is_partial);
        }
    }

    fn answer_read(&self, read: &Read, is_partial: bool) {
        let mut result = json!({"seq": read.seq, "records": self.read(&read.items)});
        if is_partial {
            result["records"] = json!(read.items.as_array().map(|items| vec![Value::Null; items.len()]));
            result["partial"] = json!(true);
        }
        self.send(read.connection, "result", result);
    }

    /// The records of these contents.
    pub fn read(&self, items: &Value) -> Vec<Value> {
        self.state.borrow().records.of(items)
    }

    pub fn list(&self) -> Vec<Value> {
        self.state.borrow().records.all()
    }

    /// Whether a `POST /v1/beats` is refused; else its beats are stored.
    pub fn post(&self, items: &Value) -> bool {
        let mut state = self.state.borrow_mut();
        if !state.behavior.refuses_posts {
            items.as_array().into_iter().flatten().for_each(|beat| state.records.put(beat));
        }
        state.behavior.refuses_posts
    }

    pub fn holds_reads(&self) -> bool {
        self.state.borrow().behavior.holds_reads
    }

    pub fn flag(&self) -> Option<String> {
        self.state.borrow().behavior.flag.clone()
    }
}
