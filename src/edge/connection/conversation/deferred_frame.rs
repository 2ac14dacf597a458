//! A frame that waits until what is before it is done.

use std::time::Instant;

use crate::edge::protocol::frame::{ClientFrame, Operation};

pub struct DeferredFrame {
    pub frame: ClientFrame,
    pub deadline: Instant,
}

impl DeferredFrame {
    /// Beats wait for as long as it takes.
    pub fn has_deadline(&self) -> bool {
        !matches!(self.frame.operation, Operation::Beats(_))
    }
}
