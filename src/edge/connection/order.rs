//! An operation that changes something, from its frame to its answer.

use std::time::Instant;

use super::operation;
use crate::edge::protocol::frame::Answer;
use crate::model::change::{Action, Outcome};

/// Nothing more is read of the connection until it is committed, or has waited too long.
pub struct Order {
    seq: u32,
    operation: &'static str,
    deadline: Instant,
    /// It was answered `unavailable`; its outcome will come, and interests nobody.
    forsaken: bool,
}

impl Order {
    pub fn new(seq: u32, action: &Action, deadline: Instant) -> Self {
        Order { seq, operation: operation::word(action), deadline, forsaken: false }
    }

    /// By when somebody waits for its outcome; `None`: nobody does any more.
    pub fn awaited_until(&self) -> Option<Instant> {
        (!self.forsaken).then_some(self.deadline)
    }

    /// Gives up on an outcome that is late; returns its number, to be told once.
    pub fn forsake(&mut self, now: Instant) -> Option<u32> {
        let late = !self.forsaken && now >= self.deadline;
        self.forsaken |= late;
        late.then_some(self.seq)
    }

    /// What to say of its outcome, if anybody still waits for it; an error says what was wrong with the frame.
    pub fn answer(self, outcome: &Outcome) -> Option<(u32, Result<Answer, String>)> {
        let answer = match outcome {
            Outcome::Ahead => Err(format!("{}.at: is ahead of the server's clock", self.operation)),
            Outcome::Recording { paused, .. } => Ok(Answer::Recording { paused: *paused }),
            Outcome::Beat(_) | Outcome::Deleted { .. } | Outcome::Cleared { .. } | Outcome::Erased { .. } => {
                Ok(Answer::Done)
            }
        };
        (!self.forsaken).then_some((self.seq, answer))
    }
}
