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
    /// It was answered `unavailable`; its outcome will come, and is dropped.
    forsaken: bool,
}

/// Why it was not done.
pub enum Refusal {
    /// What was wrong with the frame.
    Invalid(String),
    Unavailable,
}

impl Order {
    pub fn new(seq: u32, action: &Action, deadline: Instant) -> Self {
        Order { seq, operation: operation::word(action), deadline, forsaken: false }
    }

    /// Until when its outcome is waited for; `None`: no longer.
    pub fn awaited_until(&self) -> Option<Instant> {
        (!self.forsaken).then_some(self.deadline)
    }

    /// Gives up on an outcome that is late; returns its number, to be told once.
    pub fn forsake(&mut self, now: Instant) -> Option<u32> {
        let late = !self.forsaken && now >= self.deadline;
        self.forsaken |= late;
        late.then_some(self.seq)
    }

    /// The answer to its outcome, if it is still waited for.
    pub fn answer(self, outcome: &Outcome) -> Option<(u32, Result<Answer, Refusal>)> {
        let answer = match outcome {
            Outcome::Ahead => Err(Refusal::Invalid(format!("{}.at: is ahead of the server's clock", self.operation))),
            Outcome::Unreadable { .. } => Err(Refusal::Unavailable),
            Outcome::Recording { paused, .. } => Ok(Answer::Recording { paused: *paused }),
            Outcome::Beat(_)
            | Outcome::Deleted { .. }
            | Outcome::Cleared { .. }
            | Outcome::Erased { .. }
            | Outcome::Pruned { .. } => Ok(Answer::Done),
        };
        (!self.forsaken).then_some((self.seq, answer))
    }
}
