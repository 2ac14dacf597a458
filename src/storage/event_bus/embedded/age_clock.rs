//! The time by which events become too old. What goes by a wrong clock is gone for good.

use std::time::{Duration, Instant};

use crate::storage::embedded::Clock;
use crate::storage::embedded::agreed_time::AgreedTime;

/// How the clock is checked before anything goes by its age.
pub struct ClockCheck {
    /// Milliseconds since 1970. No event is too old before it is so by this clock, too.
    pub wall_clock: Clock,
    /// From one reading to the next; two of them have to agree.
    pub interval: Duration,
    /// By how much they may differ.
    pub step_max: Duration,
}

pub struct AgeClock {
    check: ClockCheck,
    /// That which events are dated by.
    clock: Clock,
    time: AgreedTime,
    read_at: Instant,
}

impl AgeClock {
    /// `newest_time`: of the newest event that the log was opened with, milliseconds since 1970; 0 = there is none.
    pub fn new(check: ClockCheck, clock: Clock, newest_time: u64) -> Self {
        let opened = Instant::now();
        let time = AgreedTime::new(check.step_max, newest_time, opened);
        AgeClock { read_at: opened + check.interval, check, clock, time }
    }

    /// Milliseconds since 1970; 0 until two readings have agreed.
    pub fn now(&mut self) -> u64 {
        let (moment, now) = (Instant::now(), (self.clock)().min((self.check.wall_clock)()));
        if moment >= self.read_at {
            self.read_at = moment + self.check.interval;
            if !self.time.read(now, moment) {
                tracing::debug!(now, "removing events by age postponed: two readings disagree on the time");
            }
        }
        self.time.at(moment, now)
    }
}
