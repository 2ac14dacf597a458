//! When a delivery that failed is tried again.

use std::time::Duration;

use super::status::{Failing, PauseReason, State, Status};

/// For so long a subscriber may fail before tries are used up.
pub const FAILING_MAX: Duration = Duration::from_hours(72);
/// A shorter wait that a receiver asks for, or a date that has passed, counts as this: tries must not follow each other
/// without end.
const RETRY_AFTER_MIN: Duration = Duration::from_secs(1);
/// A longer wait that a receiver asks for is cut.
pub const RETRY_AFTER_MAX: Duration = Duration::from_hours(1);
/// The share by which a pause is made longer or shorter.
const SPREAD: f64 = 0.2;

/// The pauses after the first failed try, the second, and so on; the last is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retries(Vec<Duration>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTry {
    After {
        pause: Duration,
        failing: Failing,
    },
    /// It has failed for too long.
    Never,
}

impl NextTry {
    /// Writes it into the status after a try that failed. Returns the pause before the next one; when there is none, the
    /// subscriber is paused.
    pub fn put_off(self, status: &mut Status) -> Duration {
        match self {
            NextTry::After { pause, failing } => {
                status.failing = Some(failing);
                pause
            }
            NextTry::Never => {
                status.stop(State::Paused(PauseReason::TriesUsedUp));
                Duration::ZERO
            }
        }
    }
}

impl Retries {
    /// At least one.
    pub fn new(pauses: Vec<Duration>) -> Self {
        Retries(pauses)
    }

    /// After a try that failed at `now` (milliseconds). `failing`: the failures right before it. `retry_after`: what the
    /// receiver asks for. `random`: from 0 to 1.
    pub fn next(&self, failing: Option<Failing>, now: u64, retry_after: Option<Duration>, random: f64) -> NextTry {
        let Failing { since, tries } = failing.unwrap_or(Failing { since: now, tries: 0 });
        if now.saturating_sub(since) >= FAILING_MAX.as_millis() as u64 {
            return NextTry::Never;
        }
        let index = (tries as usize).min(self.0.len().saturating_sub(1));
        let pause = self.0.get(index).copied().unwrap_or(RETRY_AFTER_MAX);
        let spread = pause.mul_f64(1.0 - SPREAD + 2.0 * SPREAD * random.clamp(0.0, 1.0));
        let pause = retry_after.map_or(spread, |asked| asked.clamp(RETRY_AFTER_MIN, RETRY_AFTER_MAX));
        NextTry::After { pause, failing: Failing { since, tries: tries.saturating_add(1) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subscribers::status::{Failure, FailureReason};

    const HOUR_MS: u64 = 3_600_000;

    fn retries() -> Retries {
        Retries::new([5, 30, 120, 600, 3_600].map(Duration::from_secs).to_vec())
    }

    fn pause(failing: Option<Failing>, now: u64, random: f64) -> (u64, Failing) {
        match retries().next(failing, now, None, random) {
            NextTry::After { pause, failing } => (pause.as_secs(), failing),
            NextTry::Never => panic!("there is another try"),
        }
    }

    #[test]
    fn pauses_grow_and_the_last_is_repeated() {
        let (mut failing, mut pauses) = (None, Vec::new());
        for _ in 0..7 {
            let (next, now) = pause(failing, 1_000, 0.5);
            pauses.push(next);
            failing = Some(now);
        }
        assert_eq!(pauses, [5, 30, 120, 600, 3_600, 3_600, 3_600]);
        assert_eq!(failing, Some(Failing { since: 1_000, tries: 7 }));
    }

    #[test]
    fn a_pause_is_a_fifth_longer_or_shorter() {
        let failing = Some(Failing { since: 0, tries: 4 });
        assert_eq!([0.0, 0.5, 1.0].map(|random| pause(failing, 1, random).0), [2_880, 3_600, 4_320]);
    }

    #[test]
    fn after_72_hours_there_is_no_other_try() {
        let failing = Some(Failing { since: 0, tries: 80 });
        let next = |now| retries().next(failing, now, None, 0.5);
        assert!(matches!(next(72 * HOUR_MS - 1), NextTry::After { .. }));
        assert_eq!(next(72 * HOUR_MS), NextTry::Never);
    }

    #[test]
    fn what_the_receiver_asks_for_is_kept_from_a_second_to_an_hour() {
        let next = |asked| retries().next(None, 0, Some(Duration::from_millis(asked)), 0.9);
        for (asked, pause) in [(0, 1), (999, 1), (1_000, 1), (90_000, 90), (3_600_000, 3_600), (7_200_000, 3_600)] {
            let failing = Failing { since: 0, tries: 1 };
            assert_eq!(next(asked), NextTry::After { pause: Duration::from_secs(pause), failing });
        }
    }

    #[test]
    fn a_subscriber_is_paused_when_its_tries_are_used_up() {
        let retries = Retries::new(vec![Duration::from_secs(5)]);
        let failure = Failure { at: 7, status: Some(500), reason: FailureReason::Status };
        let mut status = Status { last_failure: Some(failure.clone()), ..Status::default() };
        let mut try_at = |now: u64| {
            let next = retries.next(status.failing, now, None, 0.5);
            (next.put_off(&mut status), status.clone())
        };
        let failing = |tries| Some(Failing { since: 1_000, tries });
        let active =
            |tries| Status { failing: failing(tries), last_failure: Some(failure.clone()), state: State::Active };
        let pause = Duration::from_secs(5);
        assert_eq!(try_at(1_000), (pause, active(1)));
        let end = 1_000 + FAILING_MAX.as_millis() as u64;
        assert_eq!(try_at(end - 1), (pause, active(2)));
        let paused = State::Paused(PauseReason::TriesUsedUp);
        let used_up = Status { state: paused, failing: None, last_failure: Some(failure.clone()) };
        assert_eq!(try_at(end), (Duration::ZERO, used_up));
    }
}
