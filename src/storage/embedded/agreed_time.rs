//! The time by which a database removes what is too old: one that two readings agree on.

use std::time::{Duration, Instant};

/// How much faster than the monotonic clock the agreed time may catch up with the wall clock after a start. A machine
/// that was off for a day waits an hour for its first pruning, and a clock that is a year ahead must stay so for two
/// weeks before it is believed.
const CATCH_UP: u32 = 24;

/// A wrong clock would remove rows too early, and they cannot be restored. A reading is therefore used only if the next
/// reading agrees with it: both must advance as the monotonic clock does.
pub struct AgreedTime {
    /// By how much two readings may differ.
    slack: Duration,
    /// The newest commit when the database was opened; `None` if it was empty.
    opened: Option<Reading>,
    last: Option<Reading>,
    agreed: Option<Reading>,
}

#[derive(Clone, Copy)]
struct Reading {
    /// Milliseconds since 1970.
    time: u64,
    taken: Instant,
}

impl AgreedTime {
    /// `newest_commit`: the time of the newest one in the database, milliseconds since 1970; 0 = there is none.
    pub fn new(slack: Duration, newest_commit: u64, opened: Instant) -> Self {
        let opened = (newest_commit > 0).then_some(Reading { time: newest_commit, taken: opened });
        AgreedTime { slack, opened, last: None, agreed: None }
    }

    /// Takes a reading of the clock; whether the one before it agrees.
    pub fn read(&mut self, time: u64, taken: Instant) -> bool {
        let Some(last) = self.last.replace(Reading { time, taken }) else { return false };
        let agrees = time <= last.after(taken).saturating_add(ms(self.slack));
        if agrees {
            self.agreed = Some(Reading { time: last.after(taken).min(time), taken });
        }
        agrees
    }

    /// Milliseconds since 1970, never after `now`; 0 before two readings have agreed.
    pub fn at(&self, moment: Instant, now: u64) -> u64 {
        let Some(agreed) = self.agreed else { return 0 };
        let believed = self.opened.map_or(u64::MAX, |opened| {
            let passed = moment.saturating_duration_since(opened.taken) * CATCH_UP;
            opened.time.saturating_add(ms(passed)).saturating_add(ms(self.slack))
        });
        agreed.after(moment).min(believed).min(now)
    }
}

impl Reading {
    /// The time at `moment`, if the clock advances as the monotonic one.
    fn after(self, moment: Instant) -> u64 {
        self.time.saturating_add(ms(moment.saturating_duration_since(self.taken)))
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);
    const HOUR_MS: u64 = 3_600_000;
    const DAY_MS: u64 = 24 * HOUR_MS;

    fn read_hourly(newest_commit: u64, times: &[u64]) -> Vec<u64> {
        let opened = Instant::now();
        let mut time = AgreedTime::new(HOUR / 2, newest_commit, opened);
        let agreed = times.iter().zip(0..).map(|(read, hour)| {
            time.read(*read, opened + HOUR * hour);
            time.at(opened + HOUR * hour, *read)
        });
        agreed.collect()
    }

    #[test]
    fn the_agreed_time_moves_once_two_readings_agree() {
        let times = [DAY_MS, DAY_MS + HOUR_MS, DAY_MS + 2 * HOUR_MS];
        assert_eq!(read_hourly(0, &times), [0, times[1], times[2]]);
    }

    #[test]
    fn the_agreed_time_follows_the_monotonic_clock_and_never_passes_the_wall_clock() {
        let started = Instant::now();
        let mut time = AgreedTime::new(HOUR / 2, 0, started);
        time.read(DAY_MS, started);
        time.read(DAY_MS + HOUR_MS, started + HOUR);
        assert_eq!(time.at(started + 3 * HOUR, 9 * DAY_MS), DAY_MS + 3 * HOUR_MS);
        assert_eq!(time.at(started + 3 * HOUR, DAY_MS), DAY_MS);
    }

    #[test]
    fn a_step_that_the_next_reading_does_not_see_changes_nothing() {
        let times = [DAY_MS, DAY_MS, 101 * DAY_MS, DAY_MS, DAY_MS];
        assert_eq!(read_hourly(0, &times), [0, DAY_MS, DAY_MS + HOUR_MS, DAY_MS, DAY_MS]);
    }

    #[test]
    fn a_step_forward_holds_once_two_readings_have_seen_it() {
        assert_eq!(read_hourly(0, &[DAY_MS, 9 * DAY_MS, 9 * DAY_MS]), [0, 0, 9 * DAY_MS]);
    }

    #[test]
    fn a_clock_that_is_ahead_only_at_the_start_is_not_believed() {
        assert_eq!(read_hourly(0, &[101 * DAY_MS, DAY_MS, DAY_MS]), [0, DAY_MS, DAY_MS]);
    }

    #[test]
    fn a_clock_far_ahead_of_the_newest_commit_is_believed_an_hour_for_each_day() {
        let wrong = [101 * DAY_MS; 4];
        let slack = HOUR_MS / 2;
        let believed = [0, DAY_MS + DAY_MS + slack, DAY_MS + 2 * DAY_MS + slack, DAY_MS + 3 * DAY_MS + slack];
        assert_eq!(read_hourly(DAY_MS, &wrong), believed);
    }
}
