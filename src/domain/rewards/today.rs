//! The current day of the rewards, shared by all threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use model::rewards::calendar::{Calendar, RewardDay, StoredCalendar};
use model::rewards::day::Day;
use model::rewards::rule::Rules;
use model::rewards::zone::{NoZone, Zone};

/// The day of the rewards. It never goes back, whatever the clock does.
#[derive(Debug)]
pub struct Today {
    /// The number of the day, and in the lower [`UNTIL_BITS`] the millisecond of the server's clock until which it
    /// holds: one number, so that a day is never read with the end of another.
    held: AtomicU64,
    clock: Mutex<RewardClock>,
}

#[derive(Debug)]
struct RewardClock {
    calendar: Calendar,
    /// The time that the rewards' clock is ahead of the server's, milliseconds; 0 except in development.
    ahead: u64,
}

/// Enough for 8900 years.
const UNTIL_BITS: u32 = 48;
const UNTIL_MAX: u64 = (1 << UNTIL_BITS) - 1;

impl Today {
    /// Here and below, `now` is the server's clock, milliseconds since 1970.
    pub fn open(zone: &str, rules: Arc<Rules>, stored: Option<StoredCalendar>, now: u64) -> Result<Self, NoZone> {
        let calendar = Calendar::open(Zone::named(zone)?, rules, stored.as_ref(), now);
        let today = Today { held: AtomicU64::new(0), clock: Mutex::new(RewardClock { calendar, ahead: 0 }) };
        today.reward_day(now);
        Ok(today)
    }

    /// The day at `now`. Reads one atomic number, except when the day ends.
    pub fn day(&self, now: u64) -> Day {
        let held = self.held.load(Ordering::Relaxed);
        if now < held & UNTIL_MAX {
            return Day::of_number((held >> UNTIL_BITS) as u16);
        }
        self.reward_day(now).day
    }

    /// The day with the rules decided on it. Takes a lock: once for each group of commits, not for each beat.
    pub fn reward_day(&self, now: u64) -> RewardDay {
        self.day_and_end(now).0
    }

    /// The day, and the start of the next day by the server's clock, milliseconds since 1970. Takes the lock, too.
    pub fn day_and_end(&self, now: u64) -> (RewardDay, u64) {
        let mut clock = self.clock();
        let ahead = clock.ahead;
        let today = clock.calendar.advance(now.saturating_add(ahead)).clone();
        let until = clock.calendar.until().saturating_sub(ahead).min(UNTIL_MAX);
        // Stored under the lock, so that an older day never replaces a newer one.
        self.held.store(u64::from(today.day.number()) << UNTIL_BITS | until, Ordering::Relaxed);
        (today, until)
    }

    /// For development: puts the rewards' clock ahead, and leaves the server's clock unchanged.
    pub fn forward(&self, by: Duration) {
        let mut clock = self.clock();
        clock.ahead = clock.ahead.saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX));
        // The next caller computes the day.
        let day = self.held.load(Ordering::Relaxed) >> UNTIL_BITS;
        self.held.store(day << UNTIL_BITS, Ordering::Relaxed);
    }

    /// A calendar stays valid after a panic: the next call advances it again.
    fn clock(&self) -> MutexGuard<'_, RewardClock> {
        self.clock.lock()
    }
}

#[cfg(test)]
#[path = "today_tests.rs"]
mod tests;
