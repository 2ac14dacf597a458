//! The server's clock, by which beats are judged.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// max(wall clock, its last reading + monotonic time since): it follows a step forward and ignores one back.
///
/// That is the monotonic clock plus the greatest distance that was ever seen between the two, so a reading is at most
/// one atomic maximum and no lock.
#[derive(Debug)]
pub struct Clock {
    started: Instant,
    /// Wall clock minus monotonic time, milliseconds; the greatest seen.
    offset: AtomicU64,
}

impl Clock {
    /// Starts with the wall clock, but not before `floor` (server-clock milliseconds).
    pub fn starting_at(floor: u64) -> Self {
        Clock { started: Instant::now(), offset: AtomicU64::new(floor) }
    }

    /// Server-clock milliseconds since 1970.
    pub fn now(&self) -> u64 {
        self.reading(wall(), self.started.elapsed().as_millis() as u64)
    }

    /// What it said at that moment, but for a step forward that nobody had noticed by then. Costs no look at any clock.
    pub fn at(&self, moment: Instant) -> u64 {
        self.offset.load(Ordering::Relaxed) + moment.saturating_duration_since(self.started).as_millis() as u64
    }

    fn reading(&self, wall: u64, elapsed: u64) -> u64 {
        let seen = wall.saturating_sub(elapsed);
        let known = self.offset.load(Ordering::Relaxed);
        // Written only when it grows, since all threads read it for every beat.
        let offset = if seen > known { self.offset.fetch_max(seen, Ordering::Relaxed).max(seen) } else { known };
        offset + elapsed
    }
}

/// The wall clock, milliseconds since 1970. Tokens are judged by it.
pub fn wall() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_a_step_forward_and_ignores_one_back() {
        let clock = Clock::starting_at(0);
        assert_eq!(clock.reading(1_000, 0), 1_000);
        assert_eq!(clock.reading(9_000, 10), 9_000);
        assert_eq!(clock.reading(2_000, 30), 9_020);
        assert_eq!(clock.reading(9_500, 40), 9_500);
    }

    #[test]
    fn it_says_what_it_said_at_a_moment() {
        let clock = Clock::starting_at(5_000);
        clock.reading(9_000, 0);
        let later = |seconds| clock.at(clock.started + std::time::Duration::from_secs(seconds));
        assert_eq!([later(0), later(2)], [9_000, 11_000]);
    }

    #[test]
    fn it_does_not_start_before_the_newest_commit() {
        let clock = Clock::starting_at(5_000);
        assert_eq!(clock.reading(1_000, 0), 5_000);
        assert_eq!(clock.reading(1_100, 100), 5_100);
    }
}
