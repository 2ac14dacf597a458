//! Pushes to a user's other devices.

use super::ids::Content;
use super::record::Record;
use super::rewards::day::Day;

/// A change made elsewhere by the same user.
#[derive(Clone, Debug, PartialEq)]
pub enum Push {
    Record(Record),
    /// `at`: server-clock milliseconds, here and below.
    Deleted {
        contents: Vec<Content>,
        at: u64,
    },
    Cleared {
        at: u64,
    },
    Recording {
        paused: bool,
    },
    /// All is decided for the user on this day.
    Flag(Day),
}
