//! A rate limit for each of many users or addresses.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use parking_lot::Mutex;

/// Limits each `Who`, over all threads: `burst` at once after a pause, then a rate per second.
///
/// Bounded by [`RATED_MAX`]: when one more comes, entries with a full allowance are dropped, and if more than half
/// remain, all are dropped.
pub struct Rates<Who: Eq + Hash + Clone, C: Clock = MonotonicClock> {
    quota: Quota,
    clock: C,
    limiter: Mutex<Limiter<Who, C>>,
}

type Limiter<Who, C> = RateLimiter<Who, HashMapStateStore<Who>, C, NoOpMiddleware<<C as Clock>::Instant>>;

/// The most entries at a time.
pub const RATED_MAX: usize = 65_536;

impl<Who: Eq + Hash + Clone> Rates<Who> {
    pub fn new(per_second: u32, burst: u32) -> Self {
        Self::with_clock(per_second, burst, MonotonicClock)
    }
}

impl<Who: Eq + Hash + Clone, C: Clock + Clone> Rates<Who, C> {
    pub fn with_clock(per_second: u32, burst: u32, clock: C) -> Self {
        let quota = quota(per_second, burst);
        Rates { quota, limiter: Mutex::new(RateLimiter::hashmap_with_clock(quota, clock.clone())), clock }
    }

    /// Counts one more, or returns how long to wait; a refused one does not count.
    pub fn count(&self, who: &Who) -> Result<(), Duration> {
        let mut limiter = self.limiter.lock();
        let mut counted = limiter.check_key(who);
        if limiter.len() > RATED_MAX {
            limiter.retain_recent();
            // Rather than to look through all of them again soon.
            if limiter.len() > RATED_MAX / 2 {
                *limiter = RateLimiter::hashmap_with_clock(self.quota, self.clock.clone());
                counted = limiter.check_key(who);
            }
        }
        counted.map_err(|until| until.wait_time_from(self.clock.now()))
    }
}

/// 0 is taken for 1.
pub fn quota(per_second: u32, burst: u32) -> Quota {
    let at_least_one = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
    Quota::per_second(at_least_one(per_second)).allow_burst(at_least_one(burst))
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;
    use model::ids::UserId;

    const USER: UserId = UserId(42);

    fn rates(per_second: u32, burst: u32) -> (Rates<UserId, FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        (Rates::with_clock(per_second, burst, clock.clone()), clock)
    }

    fn counted(rates: &Rates<UserId, FakeRelativeClock>) -> usize {
        rates.limiter.lock().len()
    }

    #[test]
    fn each_user_has_a_burst_and_then_the_rate() {
        let (rates, clock) = rates(20, 100);
        assert_eq!((0..200).filter(|_| rates.count(&USER).is_ok()).count(), 100);
        assert_eq!(rates.count(&USER), Err(Duration::from_millis(50)));
        assert!(rates.count(&UserId(7)).is_ok());
        clock.advance(Duration::from_secs(1));
        assert_eq!((0..200).filter(|_| rates.count(&USER).is_ok()).count(), 20);
        clock.advance(Duration::from_secs(60));
        assert_eq!(
            (0..200).filter(|_| rates.count(&USER).is_ok()).count(),
            100,
            "a pause gathers no more than the burst"
        );
    }

    #[test]
    fn a_full_table_drops_idle_users_and_still_counts_the_others() {
        let (rates, clock) = rates(1, 10);
        for user in 0..RATED_MAX as u64 - 1 {
            rates.count(&UserId(user)).expect("the first");
        }
        let last = UserId(u64::MAX);
        assert_eq!((0..20).filter(|_| rates.count(&last).is_ok()).count(), 10);
        assert_eq!(counted(&rates), RATED_MAX);
        clock.advance(Duration::from_secs(2));
        assert_eq!((0..20).filter(|_| rates.count(&last).is_ok()).count(), 2);
        assert_eq!(counted(&rates), RATED_MAX, "no new user has come");
        rates.count(&UserId(u64::MAX - 1)).expect("the first");
        assert_eq!(counted(&rates), 2);
        rates.count(&last).expect_err("it is still counted");
    }

    #[test]
    fn the_table_stays_bounded_even_if_no_user_is_idle() {
        let (rates, _clock) = rates(1, 1);
        for user in 0..3 * RATED_MAX as u64 {
            rates.count(&UserId(user)).expect("the first");
            assert!(user % 1_024 > 0 || counted(&rates) <= RATED_MAX);
        }
        assert!(rates.count(&UserId(3 * RATED_MAX as u64 - 1)).is_err());
    }

    #[test]
    fn extreme_rates_and_bursts_count_the_first_request() {
        for (per_second, burst) in [(0, 0), (u32::MAX, u32::MAX), (u32::MAX, 1), (1, u32::MAX)] {
            rates(per_second, burst).0.count(&USER).expect("the first");
        }
    }
}
