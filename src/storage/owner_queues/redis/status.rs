//! A status as words of a record. Scripts compare the state, and hand the others on.

use crate::model::subscribers::{Failing, Failure, FailureReason, PauseReason, State, Status};
use crate::storage::redis::value::DecodeError;

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
    let last_failure = (!last_failure.is_empty()).then(|| read_failure(last_failure).ok_or(MALFORMED)).transpose()?;
    Ok(Status { state: read_state(state)?, failing, last_failure })
}

fn state_word(state: State) -> &'static str {
    match state {
        State::Active => ACTIVE,
        State::Paused(PauseReason::Requested) => "requested",
        State::Paused(PauseReason::TriesUsedUp) => "tries_used_up",
        State::Disabled => "disabled",
    }
}

pub fn read_state(word: &str) -> Result<State, DecodeError> {
    const ALL: [State; 4] = [
        State::Active,
        State::Paused(PauseReason::Requested),
        State::Paused(PauseReason::TriesUsedUp),
        State::Disabled,
    ];
    ALL.into_iter().find(|state| state_word(*state) == word).ok_or(MALFORMED)
}

fn read_failing(text: &str) -> Option<Failing> {
    let (since, tries) = text.split_once(' ')?;
    Some(Failing { since: since.parse().ok()?, tries: tries.parse().ok()? })
}

fn read_failure(text: &str) -> Option<Failure> {
    let (at, rest) = text.split_once(' ')?;
    let (status, reason) = rest.split_once(' ')?;
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
        for wrong in
            [["", "", ""], ["gone", "", ""], ["active", "1", ""], ["active", "", "1 2 x"], ["active", "", "1 -"]]
        {
            assert_eq!(status(wrong), Err(MALFORMED), "{wrong:?}");
        }
    }
}
