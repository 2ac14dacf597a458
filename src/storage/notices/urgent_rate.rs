//! How many notices of a user are due at once.

use std::collections::HashMap;

use model::ids::UserId;

/// Notices of a user that are due at once though they come together.
const BURST: u64 = 20;
/// The time for another one, milliseconds.
const INTERVAL: u64 = 1_000;
/// Users that are remembered before it is looked who can be forgotten.
const USERS_MIN: usize = 1_024;

/// A position beyond it is told as a steady one is: the newest, some time later. So a user whose state changes all the time
/// fills no queue of those who follow others, too.
#[derive(Default)]
pub struct UrgentRate {
    /// By when a user will have made good for what was due at once, milliseconds.
    spent_until: HashMap<UserId, u64>,
    /// Users after the last time that some were forgotten.
    kept: usize,
}

impl UrgentRate {
    /// Whether another one of this user may be due at once, which counts. `now`: milliseconds.
    pub fn allows(&mut self, user: UserId, now: u64) -> bool {
        if self.spent_until.len() > USERS_MIN.max(2 * self.kept) {
            self.spent_until.retain(|_, until| *until > now);
            self.kept = self.spent_until.len();
        }
        let until = self.spent_until.entry(user).or_default();
        let spent = (*until).max(now) + INTERVAL;
        let is_allowed = spent <= now + BURST * INTERVAL;
        if is_allowed {
            *until = spent;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_some_at_once_and_then_one_a_second() {
        let (mut rate, user) = (UrgentRate::default(), UserId(1));
        let mut count = |user, now| (0..1_000).filter(|_| rate.allows(user, now)).count();
        assert_eq!((count(user, 5_000), count(user, 5_999)), (20, 0));
        assert_eq!((count(UserId(2), 5_999), count(user, 6_000)), (20, 1));
        assert_eq!(count(user, 9_500), 3);
        assert_eq!(count(user, 90_000), 20);
    }

    #[test]
    fn users_are_forgotten_once_they_are_quiet() {
        let mut rate = UrgentRate::default();
        for user in 0..100_000 {
            assert!(rate.allows(UserId(user), user));
        }
        assert!(rate.spent_until.len() < 5_000, "{}", rate.spent_until.len());
    }
}
