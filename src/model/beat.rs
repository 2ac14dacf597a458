//! A reported position.

use super::ids::{Content, SessionId};

/// How far beyond the end of its content a position may be, milliseconds.
const BEYOND_END_MS_MAX: u64 = 60_000;

/// The activity of the player when it made the beat.
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
    /// Length of the content as the client has it, milliseconds; 0 = unknown. See [`length_at`].
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

/// The greatest time or length on every interface, milliseconds: every JSON reader holds it exactly, and its arithmetic
/// does not overflow.
pub const MILLIS_MAX: u64 = (1 << 53) - 1;
/// Bytes of the name of a device on every interface.
pub const DEVICE_BYTES_MAX: usize = 64;

/// The key that orders the beats of one content. Equal stamps mean the same beat.
pub type Stamp = (u64, SessionId);

/// The activity of a player, and its playback. A beat is *steady* if both are as in the stored record: only the
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

/// The length `dur` of a content that is played at `pos`; 0 = unknown. A length that the position passes by far is wrong,
/// since a feed may be, where a player is not. It must not make a content finished that goes on.
pub fn length_at(pos: u64, dur: u64) -> u64 {
    if pos > dur.saturating_add(BEYOND_END_MS_MAX) { 0 } else { dur }
}

impl Beat {
    /// 0 = unknown.
    pub fn length(&self) -> u64 {
        length_at(self.pos, self.dur)
    }

    /// The beat as it is after these `earlier` ones of its slot, the oldest first: it keeps the length that they know.
    pub fn after(&self, earlier: &[Beat]) -> Beat {
        let lengths = earlier.iter().rev().map(|earlier| length_at(self.pos, earlier.length()));
        let dur = std::iter::once(self.length()).chain(lengths).find(|length| *length > 0).unwrap_or_default();
        Beat { dur, ..*self }
    }

    pub fn playback(&self) -> Playback {
        Playback { session: self.session, state: self.state }
    }

    /// Whether its times and lengths are such as a client may send. What is stored has to fit into every later store.
    pub fn is_in_range(&self) -> bool {
        [self.pos, self.dur, self.watched_ms(), self.at].iter().all(|number| *number <= MILLIS_MAX)
    }

    pub fn stamp(&self) -> Stamp {
        (self.at, self.session)
    }

    /// The played time that counts and is stored, milliseconds.
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
    fn a_length_is_unknown_where_the_position_passes_it_by_a_minute() {
        let lengths = [(0, 0), (60_000, 0), (80_000, 20_000), (80_001, 20_000), (u64::MAX, u64::MAX - 1)];
        assert_eq!(lengths.map(|(pos, dur)| length_at(pos, dur)), [0, 0, 20_000, 0, u64::MAX - 1]);
    }

    #[test]
    fn a_beat_keeps_the_length_that_those_before_it_know() {
        let (content, session, state) = (Content { kind: 1, oid: 100 }, SessionId(1), State::Playing);
        let beat = |pos, dur| Beat { content, pos, dur, state, session, watched: Some(1), rate: 1.0, at: 1 };
        let earlier = [beat(0, 300_000), beat(0, 400_000), beat(0, 0), beat(70_000, 1)];
        assert_eq!(beat(5_000, 0).after(&earlier).dur, 400_000);
        assert_eq!(beat(5_000, 200_000).after(&earlier).dur, 200_000);
        assert_eq!(beat(460_001, 0).after(&earlier).dur, 0, "it passes them all");
        assert_eq!((beat(5_000, 0).after(&[]).dur, beat(5_000, 0).after(&earlier[2..]).dur), (0, 0));
    }

    #[test]
    fn a_state_is_read_from_its_own_word() {
        for state in [State::Playing, State::Paused, State::Seeked, State::Ended] {
            assert_eq!(State::of_word(state.word()), Some(state));
        }
        assert_eq!(State::of_word("Playing"), None);
    }
}
