//! When something is decided.

use super::rewards::day::Day;

#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// The server's clock, milliseconds.
    pub now: u64,
    /// What is older (milliseconds) has outlived the retention.
    pub horizon: u64,
    /// The day of the rewards.
    pub day: Day,
}
