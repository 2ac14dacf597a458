//! The recent users of one shard.

use std::num::NonZeroUsize;

use lru::LruCache;

use model::ids::UserId;
use model::rewards::day::Day;
use model::rewards::rule::RuleSet;

/// The recent users. At the bound the least recently used one is dropped.
pub struct Recent(LruCache<UserId, RecentUser>);

/// The known state of one user.
#[derive(Clone, Copy, Default)]
pub struct RecentUser {
    /// The day of the decisions; `None`: only `paused` is known.
    pub day: Option<Day>,
    pub decided: RuleSet,
    /// Whether all other rules are open.
    pub certain: bool,
    /// Whether recording is paused, if known.
    pub paused: Option<bool>,
}

impl Recent {
    /// Allocates memory only as it fills.
    pub fn new(users_max: NonZeroUsize) -> Self {
        Recent(LruCache::sparse(users_max))
    }

    pub fn get(&mut self, user: UserId) -> Option<RecentUser> {
        self.0.get(&user).copied()
    }

    /// Replaces the decisions; `paused` stays as it was.
    pub fn decided(&mut self, user: UserId, day: Day, decided: RuleSet, certain: bool) -> RecentUser {
        let known = self.0.get_or_insert_mut(user, RecentUser::default);
        *known = RecentUser { day: Some(day), decided, certain, paused: known.paused };
        *known
    }

    /// Adds a decision about a user, if anything of this day is known.
    pub fn mark(&mut self, user: UserId, day: Day, index: usize) {
        if let Some(known) = self.0.peek_mut(&user).filter(|known| known.day == Some(day)) {
            known.decided.insert(index);
        }
    }

    /// Records a switch of recording, if the user is remembered.
    pub fn switched(&mut self, user: UserId, paused: bool) {
        if let Some(known) = self.0.peek_mut(&user) {
            known.paused = Some(paused);
        }
    }

    /// Remembers whether recording is paused, for any user.
    pub fn learned(&mut self, user: UserId, paused: bool) {
        self.0.get_or_insert_mut(user, RecentUser::default).paused = Some(paused);
    }

    pub fn forget(&mut self, user: UserId) {
        self.0.pop(&user);
    }
}
