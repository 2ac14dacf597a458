//! The cache of heads of recent users.

use std::num::NonZeroUsize;

use lru::LruCache;

use super::Head;
use super::contents::Contents;
use super::noticing::Waiting;
use model::ids::UserId;

/// Heads as this process has last read or written them. If another gateway has written since, the next write is
/// refused, and the head is read again.
pub struct Heads(LruCache<UserId, Option<Remembered>>);

/// The cached state for a user's next change.
pub struct Remembered {
    pub head: Box<Head>,
    pub contents: Contents,
    /// The steady notice that this process has left last.
    pub waiting: Option<Waiting>,
}

impl Heads {
    pub fn new(users_max: NonZeroUsize) -> Self {
        Heads(LruCache::new(users_max))
    }

    /// Takes the head out of the cache. The caller puts it back after the change.
    pub fn take(&mut self, user: UserId) -> Option<Remembered> {
        self.0.get_mut(&user)?.take()
    }

    /// Caches a head read outside a commit, unless the user is cached or being written.
    pub fn learn(&mut self, user: UserId, head: Box<Head>) {
        if !self.0.contains(&user) {
            self.0.put(user, Some(Remembered { head, contents: Contents::Unknown, waiting: None }));
        }
    }

    pub fn put(&mut self, user: UserId, remembered: Remembered) {
        match self.0.peek_mut(&user) {
            Some(slot) => *slot = Some(remembered),
            None => drop(self.0.put(user, Some(remembered))),
        }
    }
}
