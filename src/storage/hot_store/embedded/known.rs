//! What is remembered of users between groups, so that a beat costs one read: that of its content's row.

use std::num::NonZeroUsize;

use lru::LruCache;

use super::cap::Candidates;
use crate::model::forgetting::UserRow;
use crate::model::ids::UserId;

/// Users at their cap whose oldest contents are remembered; one more is looked through anew.
const FULL_USERS_MAX: NonZeroUsize = NonZeroUsize::new(256).unwrap();

pub struct Known {
    pub users: LruCache<UserId, KnownUser>,
    pub full: LruCache<UserId, Candidates>,
}

#[derive(Clone)]
pub struct KnownUser {
    pub row: UserRow,
    /// How many contents are kept; counted when the first new one comes.
    pub contents: Option<u32>,
}

impl Known {
    pub fn new(users_max: NonZeroUsize) -> Self {
        Known { users: LruCache::new(users_max), full: LruCache::new(FULL_USERS_MAX) }
    }
    /// What is known of the user; `read` is asked if that is nothing.
    pub fn user<E>(&mut self, user: UserId, read: impl FnOnce() -> Result<UserRow, E>) -> Result<&KnownUser, E> {
        // Who was here last is of interest only when somebody has to go, and noting it touches far apart memory.
        if self.users.len() == self.users.cap().get() {
            self.users.promote(&user);
        }
        if !self.users.contains(&user) {
            self.users.put(user, KnownUser { row: read()?, contents: None });
        }
        Ok(self.users.peek(&user).expect("it is there"))
    }
}
