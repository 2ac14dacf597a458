//! Users whose data were missing in the history store when they were compared last.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use model::ids::UserId;
use storage::hot_store::optimistic::Token;

/// Users that are remembered; others are found again by the next look.
const USERS_MAX: usize = 10_000;

/// Remembers since when each of them has been behind, unchanged.
pub struct Behind {
    /// How long packs may take from the bus to the history store.
    grace: Duration,
    users: HashMap<UserId, (Token, Instant)>,
}

impl Behind {
    pub fn new(grace: Duration) -> Self {
        Behind { grace, users: HashMap::new() }
    }

    /// The history store is behind the user's state of this token. Returns whether it has been for the grace.
    pub fn is_overdue(&mut self, user: UserId, token: Token, now: Instant) -> bool {
        let known = self.users.get(&user).copied();
        if let Some((_, since)) = known.filter(|(known, _)| *known == token) {
            return now.duration_since(since) >= self.grace;
        }
        if known.is_some() || self.users.len() < USERS_MAX {
            self.users.insert(user, (token, now));
        }
        false
    }

    pub fn forget(&mut self, user: UserId) {
        self.users.remove(&user);
    }

    /// Those whose grace is over.
    pub fn due(&self, now: Instant) -> Vec<UserId> {
        let is_due = |(_, (_, since)): &(&UserId, &(Token, Instant))| now.duration_since(*since) >= self.grace;
        self.users.iter().filter(is_due).map(|(user, _)| *user).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::version::Version;

    const GRACE: Duration = Duration::from_secs(60);

    #[test]
    fn a_user_is_overdue_after_the_grace_unless_the_user_has_changed() {
        let (mut behind, now) = (Behind::new(GRACE), Instant::now());
        let token = |version| Token { version: Version(version), writer: 1 };
        assert!(!behind.is_overdue(UserId(1), token(1), now));
        assert!(!behind.is_overdue(UserId(1), token(1), now + GRACE / 2) && behind.due(now + GRACE / 2).is_empty());
        assert_eq!(behind.due(now + GRACE), [UserId(1)]);
        assert!(behind.is_overdue(UserId(1), token(1), now + GRACE));
        assert!(!behind.is_overdue(UserId(1), token(2), now + GRACE), "changed, so packs may be on their way");
        assert!(behind.is_overdue(UserId(1), token(2), now + 2 * GRACE));
        behind.forget(UserId(1));
        assert!(behind.due(now + 9 * GRACE).is_empty());
    }
}
