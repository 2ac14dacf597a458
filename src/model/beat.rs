//! A reported position.

use super::ids::{Content, SessionId};

/// What the player was doing when it made the beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Playing,
    Paused,
    Seeked,
    Ended,
}

impl State {
    /// By which it is named on the wire and in settings.
    pub fn word(self) -> &'static str {
        match self {
            State::Playing => "playing",
            State::Paused => "paused",
            State::Seeked => "seeked",
            State::Ended => "ended",
        }
    }

    pub fn of_word(word: &str) -> Option<Self> {
        [State::Playing, State::Paused, State::Seeked, State::Ended].into_iter().find(|state| state.word() == word)
    }

    /// By which it is kept and told to other gateways; 0 is left for where there is none.
    pub fn number(self) -> u8 {
        match self {
            State::Playing => 1,
            State::Paused => 2,
            State::Seeked => 3,
            State::Ended => 4,
        }
    }

    pub fn of_number(number: u8) -> Option<Self> {
        [State::Playing, State::Paused, State::Seeked, State::Ended].into_iter().find(|state| state.number() == number)
    }
}

/// One heartbeat: "in this playback, at this moment, the position was …".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beat {
    pub content: Content,
    /// Position in the content, milliseconds.
    pub pos: u64,
    /// Length of the content, milliseconds; 0 = unknown.
    pub dur: u64,
    pub state: State,
    pub session: SessionId,
    /// Milliseconds of media played in this session so far (cumulative, so that coalescing cannot lose any). `None`: the
    /// client does not say, which is not the same as 0.
    pub watched: Option<u64>,
    /// Playback speed, 1 = normal.
    pub rate: f64,
    /// The server-clock millisecond from which the beat is true.
    pub at: u64,
}

/// What orders the beats of one content. Equal stamps mean the same beat.
pub type Stamp = (u64, SessionId);

/// What a player is doing in which playback. A beat is *steady* if that is as the stored record has it: only the
/// position moves on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Playback {
    pub session: SessionId,
    pub state: State,
}

impl Playback {
    pub fn is_playing(self) -> bool {
        self.state == State::Playing
    }
}

impl Beat {
    pub fn playback(&self) -> Playback {
        Playback { session: self.session, state: self.state }
    }

    pub fn stamp(&self) -> Stamp {
        (self.at, self.session)
    }

    /// What counts as played, and is stored.
    pub fn watched_ms(&self) -> u64 {
        self.watched.unwrap_or_default()
    }

    /// Whether anything was played. A player that does not count says so by playing.
    pub fn has_started(&self) -> bool {
        self.watched.map_or(self.state == State::Playing, |watched| watched > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_player_says_of_nothing_played_counts_whatever_its_state() {
        let (content, session) = (Content { kind: 1, oid: 100 }, SessionId(1));
        let beat = |state, watched| Beat { content, pos: 0, dur: 0, state, session, watched, rate: 1.0, at: 1 };
        for state in [State::Playing, State::Paused, State::Seeked, State::Ended] {
            assert!(!beat(state, Some(0)).has_started() && beat(state, Some(1)).has_started(), "{state:?}");
            assert_eq!(beat(state, None).has_started(), state == State::Playing);
        }
        assert_eq!((beat(State::Playing, None).watched_ms(), beat(State::Paused, Some(7)).watched_ms()), (0, 7));
    }

    #[test]
    fn a_state_is_read_from_its_own_word() {
        for state in [State::Playing, State::Paused, State::Seeked, State::Ended] {
            assert_eq!(State::of_word(state.word()), Some(state));
        }
        assert_eq!(State::of_word("Playing"), None);
    }
}
