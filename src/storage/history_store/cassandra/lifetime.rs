//! How long a cell lives: by the moments that it is about, never by when it is written.

use crate::model::pack::{PackedForgetting, PackedRow};
use crate::model::retention::Retention;

/// The longest that Cassandra takes, twenty years.
const TTL_MAX: u64 = 20 * 365 * 24 * 60 * 60;

/// A TTL in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// Cassandra calls it TTL 0.
    ForEver,
    Seconds(i32),
    /// Nothing is left of it.
    Over,
}

impl Lifetime {
    /// Of what expires a retention after `at`. Rounded up: a read leaves out what has expired, so it may be there for
    /// longer, never for less.
    fn of(at: u64, retention: Retention, now: u64) -> Self {
        let left_ms = retention.expires(at).saturating_sub(now);
        match left_ms.div_ceil(1000).min(TTL_MAX) {
            0 => Lifetime::Over,
            seconds => Lifetime::Seconds(seconds as i32),
        }
    }

    pub fn of_row(row: &PackedRow, retention: Retention, now: u64) -> Self {
        Self::of(row.newest(), retention, now)
    }

    /// A pause that goes on is never too old: without it the user would be recorded again.
    pub fn of_forgetting(forgetting: &PackedForgetting, retention: Retention, now: u64) -> Self {
        let switches = &forgetting.switches;
        if switches.iter().max().is_some_and(|newest| newest.paused) {
            return Lifetime::ForEver;
        }
        let newest = switches.iter().map(|switch| switch.at).max().unwrap_or(0);
        Self::of(newest.max(forgetting.watermark).max(forgetting.floor), retention, now)
    }

    /// As it is bound. Of nothing there is nothing to expire.
    pub fn ttl(self) -> i32 {
        match self {
            Lifetime::Seconds(seconds) => seconds,
            Lifetime::ForEver | Lifetime::Over => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::version::Version;
    use std::time::Duration;

    use super::*;
    use crate::model::recording::Switch;

    const HOUR: u64 = 3_600_000;
    const NOW: u64 = 1_795_150_000_000;

    fn hour() -> Retention {
        Retention::of(Duration::from_millis(HOUR))
    }

    fn forgetting(watermark: u64, switches: &[(u64, bool)]) -> PackedForgetting {
        let switches = switches.iter().map(|&(at, paused)| Switch { at, paused }).collect();
        PackedForgetting { watermark, floor: 0, switches, version: Version(1) }
    }

    #[test]
    fn it_counts_from_the_moment_and_is_rounded_up() {
        assert_eq!(Lifetime::of(NOW, hour(), NOW), Lifetime::Seconds(3_601));
        assert_eq!(Lifetime::of(NOW - HOUR, hour(), NOW), Lifetime::Seconds(1), "a millisecond is left");
        assert_eq!(Lifetime::of(NOW - HOUR - 1, hour(), NOW), Lifetime::Over, "TTL 0 would be for ever");
    }

    #[test]
    fn what_is_far_ahead_is_kept_as_long_as_can_be_said() {
        assert_eq!(Lifetime::of((1 << 53) - 1, hour(), NOW), Lifetime::Seconds(TTL_MAX as i32));
    }

    #[test]
    fn a_pause_that_goes_on_never_expires() {
        let of = |forgetting: &PackedForgetting| Lifetime::of_forgetting(forgetting, hour(), NOW);
        assert_eq!(of(&forgetting(0, &[(5, true)])), Lifetime::ForEver);
        assert_eq!(of(&forgetting(0, &[(5, true), (6, false)])), Lifetime::Over);
        assert_eq!(of(&forgetting(NOW - HOUR / 2, &[(5, true), (6, false)])), Lifetime::Seconds(1_801));
    }
}
