//! A part of the event log, and how it is asked for.

use std::time::Duration;

/// A request for the events after an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRequest {
    /// 0 = from the oldest that is kept.
    pub after: u64,
    /// Events at most.
    pub limit: usize,
    /// How long something newer is waited for when there is nothing.
    pub wait: Duration,
}

/// A part of a log, as it was at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPart {
    /// Each with its offset, as the text of a JSON object, in their order.
    pub events: Vec<(u64, String)>,
    /// The newest offset of the whole log; 0 = it never had an event.
    pub newest: u64,
    /// Which log it is: random, made with it. Offsets of another log mean nothing in this one.
    pub log: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPage {
    pub part: LogPart,
    /// The offset to go on with: the last one, or the one that was asked for; 0 if that is beyond the end.
    pub next: u64,
    /// The offset that was asked for is greater than any of this log: it must be of another one.
    pub beyond_end: bool,
}

impl EventRequest {
    pub const LIMIT_DEFAULT: usize = 100;
    pub const LIMIT_MAX: usize = 1_000;
    pub const WAIT_MAX: Duration = Duration::from_secs(30);
}
