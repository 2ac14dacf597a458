//! The clock that decides when events are too old. A wrong clock would remove events that cannot be restored.

use std::time::{Duration, Instant};

use crate::agreed_time::AgreedTime;
use storage::Clock;

/// How the clock is checked before events are removed by their age.
pub struct ClockCheck {
    /// Milliseconds since 1970. An event must be too old by this clock, too.
    pub wall_clock: Clock,
    /// The time from one reading to the next; two readings have to agree.
    pub interval: Duration,
    /// How much two readings may differ.
    pub step_max: Duration,
}

pub struct AgeClock {
    check: ClockCheck,
    /// The clock by which events are dated.
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
