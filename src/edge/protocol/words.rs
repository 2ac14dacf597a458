//! The words of the wire for the enumerations of the model.

use crate::model::beat::State;
use crate::model::rule::Reason;

pub fn state_word(state: State) -> &'static str {
    match state {
        State::Playing => "playing",
        State::Paused => "paused",
        State::Seeked => "seeked",
        State::Ended => "ended",
    }
}

pub(super) fn state_of_word(word: &str) -> Option<State> {
    match word {
        "playing" => Some(State::Playing),
        "paused" => Some(State::Paused),
        "seeked" => Some(State::Seeked),
        "ended" => Some(State::Ended),
        _ => None,
    }
}

pub(super) fn reason_word(reason: Reason) -> &'static str {
    match reason {
        Reason::Invalid => "invalid",
        Reason::Clock => "clock",
        Reason::Expired => "expired",
        Reason::NotStarted => "not_started",
        Reason::NotRecording => "not_recording",
        Reason::Superseded => "superseded",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_from_its_own_word() {
        for state in [State::Playing, State::Paused, State::Seeked, State::Ended] {
            assert_eq!(state_of_word(state_word(state)), Some(state));
        }
        assert_eq!(state_of_word("Playing"), None);
    }
}
