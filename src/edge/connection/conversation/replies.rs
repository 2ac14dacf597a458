//! The frames to send on a connection, in order.

use std::collections::VecDeque;

use crate::protocol::frame::{Answer, ErrorCode, ServerFrame};

#[derive(Default)]
pub struct Replies(VecDeque<ServerFrame>);

impl Replies {
    pub fn next(&mut self) -> Option<ServerFrame> {
        let frame = self.0.pop_front();
        if self.0.is_empty() {
            // Mostly one ack at a time; an idle connection keeps no room for the next.
            self.0 = VecDeque::new();
        }
        frame
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn add(&mut self, frames: impl IntoIterator<Item = ServerFrame>) {
        self.0.extend(frames);
    }

    pub fn success(&mut self, seq: u32, answer: Answer) {
        self.0.push_back(ServerFrame::Result { seq, answer });
    }

    pub fn failure(&mut self, seq: Option<u32>, code: ErrorCode, message: String) {
        self.0.push_back(ServerFrame::Error { seq, code, message });
    }

    pub fn unavailable(&mut self, seq: u32) {
        self.failure(Some(seq), ErrorCode::Unavailable, "store: unavailable, try again".to_owned());
    }

    /// `cause`: what is wrong with the token of a renewal.
    pub fn unauthorized(&mut self, seq: u32, path: &str, cause: &str) {
        self.failure(Some(seq), ErrorCode::Unauthorized, format!("{path}: {cause}"));
    }
}
