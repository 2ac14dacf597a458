//! Stops reads of a history store that does not answer, or that is too slow to be waited for.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Failures in a row after which the breaker opens; a reader that waits in vain is one, too.
const FAILURES_MAX: u32 = 5;
/// The breaker opens, too, if half of the recent reads took longer.
const MEDIAN_MAX: Duration = Duration::from_secs(2);
/// Reads that are looked at for that, and the least number that says anything.
const RECENT_MAX: usize = 20;
const RECENT_MIN: usize = 5;
/// While the breaker is open, one read in this time tries whether the store answers.
const PROBE_EVERY: Duration = Duration::from_secs(1);

/// Open: reads are refused, so that no reader waits in vain.
#[derive(Debug, Default)]
pub struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// The durations of the last successful reads.
    recent: VecDeque<Duration>,
    /// When the next read may try the store; `None`: the breaker is closed.
    next_probe: Option<Instant>,
}

impl Breaker {
    /// Whether a read may begin.
    pub fn allows(&self, now: Instant) -> bool {
        let mut state = self.0.lock();
        match state.next_probe {
            None => true,
            Some(next) if now < next => false,
            Some(_) => {
                state.next_probe = Some(now + PROBE_EVERY);
                true
            }
        }
    }

    pub fn is_open(&self) -> bool {
        self.0.lock().next_probe.is_some()
    }

    /// A read took so long and succeeded.
    pub fn succeeded(&self, took: Duration, now: Instant) {
        let mut state = self.0.lock();
        state.failures = 0;
        if state.next_probe.is_some() && took <= MEDIAN_MAX {
            *state = State::default();
        }
        state.recent.push_back(took);
        if state.recent.len() > RECENT_MAX {
            state.recent.pop_front();
        }
        let slow = state.recent.iter().filter(|took| **took > MEDIAN_MAX).count();
        if state.recent.len() >= RECENT_MIN && 2 * slow > state.recent.len() {
            state.next_probe = Some(now + PROBE_EVERY);
        }
    }

    pub fn failed(&self, now: Instant) {
        let mut state = self.0.lock();
        state.failures += 1;
        if state.failures >= FAILURES_MAX {
            state.next_probe = Some(now + PROBE_EVERY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_failures_in_a_row_open_it_and_one_success_closes_it() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        (1..FAILURES_MAX).for_each(|_| breaker.failed(now));
        breaker.succeeded(Duration::ZERO, now);
        (1..FAILURES_MAX).for_each(|_| breaker.failed(now));
        assert!(breaker.allows(now) && !breaker.is_open());
        breaker.failed(now);
        assert!(!breaker.allows(now) && breaker.is_open());
        assert!(breaker.allows(now + PROBE_EVERY), "one read tries");
        assert!(!breaker.allows(now + PROBE_EVERY), "and no other");
        breaker.succeeded(Duration::from_millis(5), now + PROBE_EVERY);
        assert!(breaker.allows(now + PROBE_EVERY) && !breaker.is_open());
    }

    #[test]
    fn reads_that_mostly_take_too_long_open_it_until_one_is_fast() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        let slow = MEDIAN_MAX + Duration::from_millis(1);
        (0..RECENT_MAX).for_each(|_| breaker.succeeded(Duration::ZERO, now));
        for _ in 0..=RECENT_MAX / 2 {
            assert!(breaker.allows(now));
            breaker.succeeded(slow, now);
        }
        assert!(!breaker.allows(now));
        breaker.succeeded(slow, now);
        assert!(!breaker.allows(now), "still slow");
        breaker.succeeded(MEDIAN_MAX, now);
        assert!(breaker.allows(now));
    }
}
