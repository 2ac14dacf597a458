//! How a subscriber is served.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Stored with the subscriber's queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Status {
    pub state: State,
    /// Since its last success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
    /// The newest failure, until the subscriber is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Failure>,
}

impl Status {
    /// No further try follows by itself.
    pub fn stop(&mut self, state: State) {
        (self.state, self.failing) = (state, None);
    }
}

/// Whether deliveries begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// They do, or the next try is due later ([`Status::failing`]).
    #[default]
    Active,
    /// None begins; events are queued.
    Paused(PauseReason),
    /// The receiver has answered 410: none begins, and nothing is queued.
    Disabled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseReason {
    /// By the control API.
    Requested,
    /// All tries have failed for as long as they are made.
    TriesUsedUp,
}

/// Tries that failed, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Failing {
    /// When the first failed, milliseconds since 1970.
    pub since: u64,
    /// At least 1.
    pub tries: u32,
}

/// A try that failed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Failure {
    /// Milliseconds since 1970.
    pub at: u64,
    /// What the receiver has answered, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    pub reason: FailureReason,
}

/// Why a try failed. None of them names an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureReason {
    /// The answer was neither 2xx nor 3xx.
    Status,
    Timeout,
    Connect,
    Tls,
    Dns,
    /// The endpoint is at an address that is not allowed.
    RefusedAddress,
    Redirect,
}

impl FailureReason {
    pub const ALL: [FailureReason; 7] = [
        FailureReason::Status,
        FailureReason::Timeout,
        FailureReason::Connect,
        FailureReason::Tls,
        FailureReason::Dns,
        FailureReason::RefusedAddress,
        FailureReason::Redirect,
    ];

    /// Its word on the wire and in metrics.
    pub fn word(self) -> &'static str {
        match self {
            FailureReason::Status => "status",
            FailureReason::Timeout => "timeout",
            FailureReason::Connect => "connect",
            FailureReason::Tls => "tls",
            FailureReason::Dns => "dns",
            FailureReason::RefusedAddress => "refused_address",
            FailureReason::Redirect => "redirect",
        }
    }
}

impl fmt::Display for FailureReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_stored_by_its_word() {
        for reason in FailureReason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.word());
        }
    }
}
