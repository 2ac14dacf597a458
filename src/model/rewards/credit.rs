//! How much of a session counts today.

use super::day::Day;
use crate::model::beat::Beat;

/// Only what was played just now counts, milliseconds: who comes back with old beats has earned nothing with them.
pub const AGE_MS_MAX: u64 = 60_000;

/// Where the counting began: the first beat of its session that was written on `day`.
///
/// Two devices that play one content at once reset each other, since a record is of one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credit {
    pub day: Day,
    /// The server's clock when that beat was written, milliseconds.
    pub since: u64,
    /// Its `watched`, milliseconds.
    pub base: u64,
}

impl Credit {
    pub fn begin(day: Day, now: u64, watched: u64) -> Self {
        Credit { day, since: now, base: watched }
    }

    /// What `beat` has earned at `now`, milliseconds; `None`: it is too old to earn anything. No more than was played,
    /// and no more than time has passed: who jumps through a film in a second has watched a second.
    pub fn earned(&self, beat: &Beat, now: u64) -> Option<u64> {
        let fresh = now.saturating_sub(beat.at) <= AGE_MS_MAX;
        fresh.then(|| beat.watched.saturating_sub(self.base).min(now.saturating_sub(self.since)))
    }
}
