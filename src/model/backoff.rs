//! How long to wait before trying again.

use std::time::Duration;

/// Pauses that double from `first` to `max`, and the failures in a row so far.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    failures: u32,
}

impl Backoff {
    pub const fn new(first: Duration, max: Duration) -> Self {
        Backoff { first, max, failures: 0 }
    }

    /// The pause after so many failures in a row; 0 and 1 are followed by the first pause.
    pub fn after(&self, failures: u32) -> Duration {
        let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first.saturating_mul(doubled).min(self.max)
    }

    /// Counts another failure. The pause before the next attempt.
    pub fn failed(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.after(self.failures)
    }

    /// The same, cut short by up to a half, so that not all who failed together try again together. `random`: from 0 to
    /// 1.
    pub fn failed_with_jitter(&mut self, random: f64) -> Duration {
        self.failed().mul_f64(1.0 - random.clamp(0.0, 1.0) / 2.0)
    }

    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    pub fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));

    fn millis(pauses: impl IntoIterator<Item = Duration>) -> Vec<u128> {
        pauses.into_iter().map(|pause| pause.as_millis()).collect()
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew_after_a_success() {
        let mut backoff = BACKOFF;
        assert_eq!(millis((0..8).map(|_| backoff.failed())), [20, 40, 80, 160, 320, 640, 1_000, 1_000]);
        assert_eq!(backoff.failures(), 8);
        backoff.succeeded();
        assert_eq!(millis([backoff.failed(), backoff.failed()]), [20, 40]);
        assert_eq!(millis([0, 1, 2, 7].map(|failures| BACKOFF.after(failures))), [20, 20, 40, 1_000]);
    }

    #[test]
    fn many_failures_overflow_nothing() {
        let mut backoff = Backoff { failures: u32::MAX, ..BACKOFF };
        assert_eq!(backoff.failed(), Duration::from_secs(1));
        assert!((0..=100).all(|failures| BACKOFF.after(failures) <= Duration::from_secs(1)));
        let endless = Backoff::new(Duration::from_secs(u64::MAX / 2), Duration::MAX);
        assert_eq!([31, 32, 33, 34].map(|failures| endless.after(failures)), [Duration::MAX; 4]);
    }

    #[test]
    fn jitter_leaves_half_of_the_pause_to_all_of_it() {
        let pause = |random: f64| {
            let mut backoff = BACKOFF;
            [backoff.failed_with_jitter(random), backoff.failed_with_jitter(random)]
        };
        assert_eq!(millis(pause(0.0)), [20, 40]);
        assert_eq!(millis(pause(0.5)), [15, 30]);
        assert_eq!(millis(pause(1.0)), [10, 20]);
    }
}
