//! The recent users of one shard.

use std::num::NonZeroUsize;

use lru::LruCache;

use crate::model::ids::UserId;
use crate::model::rewards::day::Day;
use crate::model::rewards::rule::RuleSet;

/// What is known of each of them. At the bound the least recently used one is dropped.
pub struct Recent(LruCache<UserId, RecentUser>);

/// What is known of one user.
#[derive(Clone, Copy, Default)]
pub struct RecentUser {
    /// Of what day the decisions are; `None`: only `paused` is known.
    pub day: Option<Day>,
    pub decided: RuleSet,
    /// Whether all other rules are open.
    pub certain: bool,
    /// Whether recording is paused, if known.
    pub paused: Option<bool>,
}

impl Recent {
    /// Takes memory as it fills only.
    pub fn new(users_max: NonZeroUsize) -> Self {
        Recent(LruCache::sparse(users_max))
    }

    pub fn get(&mut self, user: UserId) -> Option<RecentUser> {
        self.0.get(&user).copied()
    }

    /// What is known from now on; whether recording is paused stays as it was.
    pub fn decided(&mut self, user: UserId, day: Day, decided: RuleSet, certain: bool) -> RecentUser {
        let known = self.0.get_or_insert_mut(user, RecentUser::default);
        *known = RecentUser { day: Some(day), decided, certain, paused: known.paused };
        *known
    }

    /// One more decision about a user, if anything is known of this day.
    pub fn mark(&mut self, user: UserId, day: Day, place: usize) {
        if let Some(known) = self.0.peek_mut(&user).filter(|known| known.day == Some(day)) {
            known.decided.insert(place);
        }
    }

    /// Records a switch of recording, if the user is remembered.
    pub fn switched(&mut self, user: UserId, paused: bool) {
        if let Some(known) = self.0.peek_mut(&user) {
            known.paused = Some(paused);
        }
    }

    /// What was read about recording, of whatever user.
    pub fn learned(&mut self, user: UserId, paused: bool) {
        self.0.get_or_insert_mut(user, RecentUser::default).paused = Some(paused);
    }

    pub fn forget(&mut self, user: UserId) {
        self.0.pop(&user);
    }
}
