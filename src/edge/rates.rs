//! How often each of many may do something.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Counts what each `Who` does, over all threads: `burst` at once after a pause, then so many a second.
///
/// An idle `Who` is not kept. Bounded by [`RATED_MAX`]: when so many are in the midst of it, all
/// of them begin anew.
pub struct Rates<Who> {
    each: Duration,
    burst: Duration,
    /// When all that one did so far is paid for.
    paid: Mutex<HashMap<Who, Instant>>,
}

/// So many are counted at a time.
pub const RATED_MAX: usize = 65_536;

impl<Who: Eq + Hash> Rates<Who> {
    pub fn new(per_second: u32, burst: u32) -> Self {
        let each = Duration::from_secs(1) / per_second.max(1);
        Rates { each, burst: each * burst.max(1), paid: Mutex::default() }
    }

    /// Counts one more, or says how long to wait with it; one that has to wait does not count.
    pub fn count(&self, who: Who, now: Instant) -> Result<(), Duration> {
        let mut paid = self.paid.lock();
        if paid.len() >= RATED_MAX && !paid.contains_key(&who) {
            paid.retain(|_, until| *until > now);
            if paid.len() >= RATED_MAX {
                paid.clear();
            }
        }
        let until = paid.entry(who).or_insert(now);
        let next = (*until).max(now) + self.each;
        if next > now + self.burst {
            return Err(next - now - self.burst);
        }
        *until = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::UserId;

    const USER: UserId = UserId(42);

    #[test]
    fn a_burst_then_so_many_a_second_of_each() {
        let (rates, now) = (Rates::new(20, 100), Instant::now());
        assert_eq!((0..200).filter(|_| rates.count(USER, now).is_ok()).count(), 100);
        assert_eq!(rates.count(USER, now), Err(Duration::from_millis(50)));
        assert!(rates.count(UserId(7), now).is_ok());
        let later = now + Duration::from_secs(1);
        assert_eq!((0..200).filter(|_| rates.count(USER, later).is_ok()).count(), 20);
    }

    #[test]
    fn those_who_stopped_make_room_for_others() {
        let (rates, now) = (Rates::new(1, 1), Instant::now());
        for user in 0..RATED_MAX as u64 {
            rates.count(UserId(user), now).expect("the first");
        }
        assert!(rates.count(UserId(1), now).is_err());
        rates.count(UserId(u64::MAX), now + Duration::from_secs(1)).expect("the first");
        assert_eq!(rates.paid.lock().len(), 1);
    }
}
