//! A status as words of a record. Scripts compare the state, and hand the others on.

use crate::value::DecodeError;
use model::subscribers::{Failing, Failure, FailureReason, PauseReason, State, Status};

const MALFORMED: DecodeError = DecodeError("the status of a subscriber");

/// The word for an active owner.
pub const ACTIVE: &str = "active";

/// State, failing and last failure; an empty word is none.
pub fn words(status: &Status) -> [String; 3] {
    let failing = status.failing.map(|Failing { since, tries }| format!("{since} {tries}"));
    let failure = status.last_failure.as_ref().map(|Failure { at, status, reason }| {
        let status = status.map_or_else(|| "-".to_owned(), |status| status.to_string());
        format!("{at} {status} {reason}")
    });
    [state_word(status.state).to_owned(), failing.unwrap_or_default(), failure.unwrap_or_default()]
}

pub fn status([state, failing, last_failure]: [&str; 3]) -> Result<Status, DecodeError> {
    let failing = (!failing.is_empty()).then(|| read_failing(failing).ok_or(MALFORMED)).transpose()?;
    // One with a reason of a newer version is none.
    let last_failure = read_failure(last_failure);
    Ok(Status { state: read_state(state), failing, last_failure })
}

fn state_word(state: State) -> &'static str {
    match state {
        State::Active => ACTIVE,
        State::Paused(PauseReason::Requested) => "requested",
        State::Paused(PauseReason::TriesUsedUp) => "tries_used_up",
        State::Paused(PauseReason::Other) => "other",
        State::Disabled => "disabled",
    }
}

/// A state of a newer version counts as paused: no script leases what is neither active nor disabled, and none changes its
/// word until the API does.
pub fn read_state(word: &str) -> State {
    const ALL: [State; 5] = [
        State::Active,
        State::Paused(PauseReason::Requested),
        State::Paused(PauseReason::TriesUsedUp),
        State::Paused(PauseReason::Other),
        State::Disabled,
    ];
    ALL.into_iter().find(|state| state_word(*state) == word).unwrap_or(State::Paused(PauseReason::Other))
}

fn read_failing(text: &str) -> Option<Failing> {
    let mut words = text.split(' ');
    Some(Failing { since: words.next()?.parse().ok()?, tries: words.next()?.parse().ok()? })
}

fn read_failure(text: &str) -> Option<Failure> {
    let mut words = text.split(' ');
    let (at, status, reason) = (words.next()?, words.next()?, words.next()?);
    let status = match status {
        "-" => None,
        status => Some(status.parse().ok()?),
    };
    let reason = FailureReason::ALL.into_iter().find(|known| known.word() == reason)?;
    Some(Failure { at: at.parse().ok()?, status, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_as_it_is_written() {
        let failing = Some(Failing { since: 1, tries: 2 });
        let failure = |status| Some(Failure { at: 3, status, reason: FailureReason::Tls });
        let paused = State::Paused(PauseReason::TriesUsedUp);
        for (state, failing, last_failure) in [
            (State::Active, None, None),
            (State::Active, failing, failure(None)),
            (paused, failing, failure(Some(500))),
            (State::Paused(PauseReason::Requested), None, None),
            (State::Disabled, None, failure(Some(410))),
        ] {
            let given = Status { state, failing, last_failure };
            let words = words(&given);
            assert_eq!(status(words.each_ref().map(String::as_str)), Ok(given));
        }
    }

    #[test]
    fn what_is_no_status_is_refused() {
        for wrong in ["1", "x 1", "1 x"] {
            assert_eq!(status(["active", wrong, ""]), Err(MALFORMED), "{wrong:?}");
        }
    }

    #[test]
    fn what_a_newer_version_has_written_counts_as_paused_and_without_a_failure() {
        let paused = Status { state: State::Paused(PauseReason::Other), ..Status::default() };
        for words in [["asleep", "", ""], ["", "", "1 2 x"], ["other", "", "1 -"]] {
            assert_eq!(status(words), Ok(paused.clone()), "{words:?}");
        }
        let failing = Some(Failing { since: 1, tries: 2 });
        assert_eq!(status(["active", "1 2 slow", ""]), Ok(Status { failing, ..Status::default() }));
    }
}
