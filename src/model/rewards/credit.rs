//! Credit: how much watch time of a session counts today.

use super::day::Day;
use crate::beat::Beat;

/// The greatest age of a beat that counts, milliseconds: beats that arrive late, after time offline, earn nothing.
pub const AGE_MS_MAX: u64 = 60_000;

/// The start of the counting: the first beat of its session that was written on `day`.
///
/// Two devices that play one content at once reset each other, since a record belongs to one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credit {
    pub day: Day,
    /// The server's clock when that beat was written, milliseconds.
    pub since: u64,
    /// Its `watched`, milliseconds.
    pub base: u64,
}

impl Credit {
    /// The credit after a beat that is written on `day` at `now` (milliseconds). `before`: the credit of its session so
    /// far.
    pub fn of(beat: &Beat, before: Option<Credit>, day: Day, now: u64) -> Self {
        let begins = Credit { day, since: now, base: beat.watched_ms() };
        before.filter(|credit| credit.day == day).unwrap_or(begins)
    }

    /// Whether a beat that is written at `now` (milliseconds) may earn anything.
    pub fn is_fresh(beat: &Beat, now: u64) -> bool {
        now.saturating_sub(beat.at) <= AGE_MS_MAX
    }

    /// The watch time that `beat` has earned at `now`, milliseconds; `None`: the beat is too old. It is never more than
    /// was played, and never more than the time that has passed: seeking through a film in a second earns a second.
    pub fn earned(&self, beat: &Beat, now: u64) -> Option<u64> {
        Self::is_fresh(beat, now)
            .then(|| beat.watched_ms().saturating_sub(self.base).min(now.saturating_sub(self.since)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::beat::State;
    use crate::forgetting::{ContentRow, UserRow};
    use crate::ids::{Content, SessionId};
    use crate::moment::Moment;
    use crate::recording::Switch;
    use crate::rule::judge;

    /// The earnings of the beats of one session. Each was made at `at`, with this `watched`, and written at once.
    fn earned(user: &UserRow, beats: &[(u64, u64)]) -> Vec<Option<u64>> {
        let mut row = ContentRow::default();
        let content = Content { kind: 1, oid: 100 };
        let beat = |at, watched| Beat {
            content,
            pos: 0,
            dur: 0,
            state: State::Playing,
            session: SessionId(1),
            watched: Some(watched),
            rate: 1.0,
            at,
        };
        let mut earn = |beat: Beat| {
            let moment = Moment { now: beat.at, ..Moment::default() };
            let (_, written) = judge(user, &mut row, &beat, &Arc::from(""), &moment);
            written?.after.credit.earned(&beat, beat.at)
        };
        beats.iter().map(|(at, watched)| earn(beat(*at, *watched))).collect()
    }

    #[test]
    fn a_beat_earns_no_more_than_was_played_or_time_has_passed() {
        let beats = [(10_000, 3_000), (14_000, 7_000), (15_000, 90_000), (30_000, 90_000)];
        assert_eq!(earned(&UserRow::default(), &beats), [Some(0), Some(4_000), Some(5_000), Some(20_000)]);
    }

    #[test]
    fn a_pause_of_recording_restarts_the_credit() {
        let mut user = UserRow::default();
        for (at, paused) in [(12_000, true), (18_000, false)] {
            user.recording.switch(Switch { at, paused }, 0);
        }
        let beats = [(10_000, 0), (11_000, 1_000), (15_000, 5_000), (18_001, 8_001), (19_001, 9_001)];
        assert_eq!(earned(&user, &beats), [Some(0), Some(1_000), None, Some(0), Some(1_000)]);
    }
}
