//! An operation that changes something, from its frame to its answer.

use std::time::Instant;

use super::operation;
use crate::protocol::frame::Answer;
use model::change::{Action, Outcome};

/// Nothing more is read of the connection until it is committed, or has waited too long.
pub struct Order {
    pub seq: u32,
    operation: &'static str,
    /// Until when its outcome is waited for.
    pub deadline: Instant,
}

/// Why it was not done.
pub enum Refusal {
    /// The frame was invalid, for this reason.
    Invalid(String),
    Unavailable,
}

impl Order {
    pub fn new(seq: u32, action: &Action, deadline: Instant) -> Self {
        Order { seq, operation: operation::word(action), deadline }
    }

    /// The answer to its outcome.
    pub fn answer(self, outcome: &Outcome) -> Result<Answer, Refusal> {
        match outcome {
            Outcome::Ahead => Err(Refusal::Invalid(format!("{}.at: is ahead of the server's clock", self.operation))),
            // A change of what is cold is answered once it is decided.
            Outcome::Unreadable { .. } | Outcome::Cold(_) => Err(Refusal::Unavailable),
            Outcome::Recording { paused, .. } => Ok(Answer::Recording { paused: *paused }),
            Outcome::Beat { .. }
            | Outcome::Deleted { .. }
            | Outcome::Cleared { .. }
            | Outcome::Erased { .. }
            | Outcome::Pruned { .. } => Ok(Answer::Done),
        }
    }
}
