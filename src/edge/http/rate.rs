//! How often a user may ask.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::model::ids::UserId;

/// Counts the requests of each user, over all threads: `burst` at once after a pause, then so many a second.
///
/// Of a user who asked nothing for a while nothing is kept. Bounded by [`Requests::USERS_MAX`]: when so many are in the
/// midst of asking, all of them begin anew.
pub struct Requests {
    each: Duration,
    burst: Duration,
    /// When all requests of a user so far are paid for.
    paid: Mutex<HashMap<UserId, Instant>>,
}

impl Requests {
    pub const USERS_MAX: usize = 65_536;

    pub fn new(per_second: u32, burst: u32) -> Self {
        let each = Duration::from_secs(1) / per_second.max(1);
        Requests { each, burst: each * burst.max(1), paid: Mutex::default() }
    }

    /// Counts a request, or says how long to wait with it; one that has to wait does not count.
    pub fn count(&self, user: UserId, now: Instant) -> Result<(), Duration> {
        // Nothing that could panic runs under the lock, so a poisoned one is as good as any.
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        if paid.len() >= Self::USERS_MAX && !paid.contains_key(&user) {
            paid.retain(|_, until| *until > now);
            if paid.len() >= Self::USERS_MAX {
                paid.clear();
            }
        }
        let until = paid.entry(user).or_insert(now);
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

    const USER: UserId = UserId(42);

    #[test]
    fn a_burst_then_so_many_a_second_of_each_user() {
        let (requests, now) = (Requests::new(20, 100), Instant::now());
        assert_eq!((0..200).filter(|_| requests.count(USER, now).is_ok()).count(), 100);
        assert_eq!(requests.count(USER, now), Err(Duration::from_millis(50)));
        assert!(requests.count(UserId(7), now).is_ok());
        let later = now + Duration::from_secs(1);
        assert_eq!((0..200).filter(|_| requests.count(USER, later).is_ok()).count(), 20);
    }

    #[test]
    fn users_who_stopped_asking_make_room_for_others() {
        let (requests, now) = (Requests::new(1, 1), Instant::now());
        for user in 0..Requests::USERS_MAX as u64 {
            requests.count(UserId(user), now).expect("the first");
        }
        assert!(requests.count(UserId(1), now).is_err());
        requests.count(UserId(u64::MAX), now + Duration::from_secs(1)).expect("the first");
        assert_eq!(requests.paid.lock().expect("no panic").len(), 1);
    }
}
