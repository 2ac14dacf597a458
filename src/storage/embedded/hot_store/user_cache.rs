//! The cache of users between groups, so that a beat that moves the current content on needs no read.

use std::num::NonZeroUsize;

use lru::LruCache;

use super::candidates::Candidates;
use model::decide::{AtHand, DraftRow, Drafted};
use model::forgetting::{ContentRow, Tombstone, UserRow};
use model::ids::{Content, UserId};
use model::record::Record;
use model::version::Version;

/// Users at their cap whose oldest contents are cached. The rows of any other user at the cap are read again.
const FULL_USERS_MAX: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// The cache equals the store: a commit that changes a user must put the user here, or remove the entry.
pub struct UserCache {
    pub users: LruCache<UserId, CachedUser>,
    pub full: LruCache<UserId, Candidates>,
}

pub struct CachedUser {
    pub row: UserRow,
    /// The number of contents; counted at the first new content.
    pub contents: Option<u32>,
    current: Option<Current>,
}

/// The row of one content of the user that has a record: usually the content being played.
struct Current {
    record: Record,
    /// Version 0 = none: an `Option` would take eight bytes more of each user.
    tombstone: Tombstone,
}

impl Current {
    fn new(record: Record, tombstone: Option<Tombstone>) -> Self {
        Current { record, tombstone: tombstone.unwrap_or(Tombstone { at: 0, version: Version::NONE }) }
    }

    fn into_row(self) -> (Content, ContentRow) {
        let tombstone = Some(self.tombstone).filter(|tombstone| tombstone.version > Version::NONE);
        (self.record.content, ContentRow { record: Some(self.record), tombstone })
    }
}

impl UserCache {
    pub fn new(users_max: NonZeroUsize) -> Self {
        UserCache { users: LruCache::new(users_max), full: LruCache::new(FULL_USERS_MAX) }
    }

    /// Takes the user out of the cache, or reads the row with `read`. The user is not cached again until
    /// [put](Self::put) back.
    pub fn take<E>(&mut self, user: UserId, read: impl FnOnce() -> Result<UserRow, E>) -> Result<AtHand, E> {
        // The order of use matters only when a user must be evicted, and updating it touches distant memory.
        if self.users.len() == self.users.cap().get() {
            self.users.promote(&user);
        }
        if !self.users.contains(&user) {
            self.users.put(user, CachedUser::new(read()?));
        }
        let known = self.users.peek_mut(&user).expect("it is there");
        let row = known.current.take().map(Current::into_row);
        Ok(AtHand { forgetting: known.row.clone(), row, contents: known.contents })
    }

    /// Caches a user as stored.
    pub fn put<C>(&mut self, user: UserId, drafted: Drafted<C>) {
        if drafted.erased {
            self.full.pop(&user);
        } else if !self.full.is_empty()
            && let Some(candidates) = self.full.get_mut(&user)
        {
            candidates.stored(&drafted.rows);
        }
        let Some(known) = self.users.peek_mut(&user) else { return };
        if drafted.forgetting_changed {
            known.row = drafted.forgetting;
        }
        known.contents = drafted.contents;
        for DraftRow { content, row, .. } in drafted.rows {
            if let Some(record) = row.record
                && (known.current.is_none() || drafted.playing == Some(content))
            {
                known.current = Some(Current::new(record, row.tombstone));
            }
        }
    }
}

impl CachedUser {
    fn new(row: UserRow) -> Self {
        CachedUser { row, contents: None, current: None }
    }

    #[cfg(test)]
    pub fn remembered(&self) -> Option<(Content, ContentRow)> {
        let Current { record, tombstone } = self.current.as_ref()?;
        Some(Current { record: record.clone(), tombstone: *tombstone }.into_row())
    }
}
