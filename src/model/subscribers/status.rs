//! How a subscriber is served.

use std::fmt;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

/// Stored with the subscriber's queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Status {
    pub state: State,
    /// Since its last success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
    /// The newest failure, until the subscriber is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known")]
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
#[serde(rename_all = "snake_case", from = "Stored")]
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
    /// For a reason, or in a state, that only a newer version knows.
    Other,
}

/// A state as it is stored.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Known(KnownState),
    Newer(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum KnownState {
    Active,
    Paused(PauseReason),
    Disabled,
}

impl From<Stored> for State {
    fn from(stored: Stored) -> State {
        match stored {
            Stored::Known(KnownState::Active) => State::Active,
            Stored::Known(KnownState::Paused(reason)) => State::Paused(reason),
            Stored::Known(KnownState::Disabled) => State::Disabled,
            Stored::Newer(IgnoredAny) => State::Paused(PauseReason::Other),
        }
    }
}

/// A failure with a reason of a newer version is none.
fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Failure>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Known(Failure),
        Newer(IgnoredAny),
    }
    Ok(match Stored::deserialize(deserializer)? {
        Stored::Known(failure) => Some(failure),
        Stored::Newer(IgnoredAny) => None,
    })
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
    /// The HTTP status of the answer, if there was one.
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

    #[test]
    fn what_a_newer_version_has_written_counts_as_paused_and_without_a_failure() {
        let read = |state: &str| {
            let failure = r#"{"at":5,"reason":"weather"}"#;
            serde_json::from_str::<Status>(&format!(r#"{{"state":{state},"last_failure":{failure}}}"#)).unwrap()
        };
        for newer in [r#""asleep""#, r#"{"paused":"weather"}"#, r#"{"asleep":{"until":5}}"#] {
            assert_eq!(
                read(newer),
                Status { state: State::Paused(PauseReason::Other), ..Status::default() },
                "{newer}"
            );
        }
        for state in [State::Active, State::Disabled, State::Paused(PauseReason::TriesUsedUp)] {
            assert_eq!(read(&serde_json::to_string(&state).unwrap()).state, state);
        }
        let whole = Failure { at: 5, status: Some(500), reason: FailureReason::Status };
        let status = Status { last_failure: Some(whole), ..Status::default() };
        let json = serde_json::to_string(&status).unwrap();
        assert_eq!(serde_json::from_str::<Status>(&json).unwrap(), status);
    }
}
