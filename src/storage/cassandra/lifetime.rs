//! The lifetime of a cell, counted from the moments in its row and not from the write.

use model::pack::{PackedForgetting, PackedRow};
use model::retention::Retention;

/// The longest that Cassandra takes, twenty years.
const TTL_MAX: u64 = 20 * 365 * 24 * 60 * 60;

/// A TTL in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// Never expires: TTL 0 in Cassandra.
    ForEver,
    Seconds(i32),
    /// Has expired already.
    Over,
}

impl Lifetime {
    /// The lifetime of a row that expires a retention after `at`. It is rounded up: a row may be stored for longer,
    /// since reads leave out expired ones, but never for less. Cassandra adds it to the time in whole seconds, rounded
    /// down, so it counts from the start of this second.
    fn of(at: u64, retention: Retention, now: u64) -> Self {
        let expires = retention.expires(at);
        if expires <= now {
            return Lifetime::Over;
        }
        let seconds = expires.div_ceil(1000) - now / 1000;
        Lifetime::Seconds(seconds.min(TTL_MAX) as i32)
    }

    pub fn of_row(row: &PackedRow, retention: Retention, now: u64) -> Self {
        Self::of(row.newest(), retention, now)
    }

    /// An open pause never expires: without it the user would be recorded again.
    pub fn of_forgetting(forgetting: &PackedForgetting, retention: Retention, now: u64) -> Self {
        let switches = &forgetting.switches;
        if switches.iter().max().is_some_and(|newest| newest.paused) {
            return Lifetime::ForEver;
        }
        let newest = switches.iter().map(|switch| switch.at).max().unwrap_or(0);
        Self::of(newest.max(forgetting.watermark).max(forgetting.floor), retention, now)
    }

    /// The value of the TTL in a statement. An expired row is written without values, so its TTL does not matter.
    pub fn ttl(self) -> i32 {
        match self {
            Lifetime::Seconds(seconds) => seconds,
            Lifetime::ForEver | Lifetime::Over => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use model::version::Version;
    use std::time::Duration;

    use super::*;
    use model::recording::Switch;

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
    fn a_lifetime_counts_from_the_moment_of_the_row_and_is_rounded_up() {
        assert_eq!(Lifetime::of(NOW, hour(), NOW), Lifetime::Seconds(3_601));
        assert_eq!(Lifetime::of(NOW - HOUR, hour(), NOW), Lifetime::Seconds(1), "a millisecond is left");
        assert_eq!(Lifetime::of(NOW - HOUR - 1, hour(), NOW), Lifetime::Over, "TTL 0 would be for ever");
    }

    #[test]
    fn a_lifetime_counts_from_the_start_of_the_second() {
        // At the end of a second, 2.001 s before the row expires: Cassandra counts from 0.999 s earlier.
        let now = NOW + 999;
        assert_eq!(Lifetime::of(now + 2_000 - HOUR, hour(), now), Lifetime::Seconds(3));
        assert_eq!(Lifetime::of(now + 2_001 - HOUR, hour(), now), Lifetime::Seconds(4));
    }

    #[test]
    fn a_lifetime_is_at_most_the_largest_ttl() {
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
