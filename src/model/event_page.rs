//! A part of the event log, and how it is asked for.

use std::time::Duration;

/// What comes behind an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRequest {
    /// 0 = from the oldest that is kept.
    pub after: u64,
    /// Events at most.
    pub limit: usize,
    /// How long something newer is waited for when there is nothing.
    pub wait: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPage {
    /// Each with its offset, as the text of a JSON object, in their order.
    pub events: Vec<(u64, String)>,
    /// What to go on with: the last offset, or that which was asked for.
    pub next: u64,
}

impl EventRequest {
    pub const LIMIT_DEFAULT: usize = 100;
    pub const LIMIT_MAX: usize = 1_000;
    pub const WAIT_MAX: Duration = Duration::from_secs(30);
}
