//! The heads of users who were here last.

use std::num::NonZeroUsize;

use lru::LruCache;

use super::Head;
use super::contents::Contents;
use crate::model::ids::UserId;

/// Each as this process has read or written it last. Another gateway may have written since: then the next write is
/// refused, and the head read anew.
pub struct Heads(LruCache<UserId, Option<Remembered>>);

/// What a user's next change may need.
pub struct Remembered {
    pub head: Box<Head>,
    pub contents: Contents,
}

impl Heads {
    pub fn new(users_max: NonZeroUsize) -> Self {
        Heads(LruCache::new(users_max))
    }

    /// Takes it out. The caller puts it back after the change.
    pub fn take(&mut self, user: UserId) -> Option<Remembered> {
        self.0.get_mut(&user)?.take()
    }

    /// Keeps what was read outside any commit, unless the user is known or being written.
    pub fn learn(&mut self, user: UserId, head: Box<Head>) {
        if !self.0.contains(&user) {
            self.0.put(user, Some(Remembered { head, contents: Contents::Unknown }));
        }
    }

    pub fn put(&mut self, user: UserId, remembered: Remembered) {
        match self.0.peek_mut(&user) {
            Some(place) => *place = Some(remembered),
            None => drop(self.0.put(user, Some(remembered))),
        }
    }
}
