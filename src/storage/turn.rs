//! Whether this process has the turn for a job that one of several processes does.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Mine,
    /// Another process has it, for so long.
    Taken(Duration),
    /// There is nothing to do.
    Done,
}
