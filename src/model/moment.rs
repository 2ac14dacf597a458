//! The times by which a change is decided.

use super::rewards::day::Day;

#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// The server's clock, milliseconds.
    pub now: u64,
    /// Rows older than this (milliseconds) have outlived the retention.
    pub horizon: u64,
    /// The day of the rewards.
    pub day: Day,
}
