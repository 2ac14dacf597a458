//! What is remembered of users between groups, so that a beat that moves their newest content on reads nothing.

use std::num::NonZeroUsize;

use lru::LruCache;

use super::candidates::Candidates;
use crate::model::forgetting::{ContentRow, Tombstone, UserRow};
use crate::model::ids::{Content, UserId};
use crate::model::record::Record;

/// Users at their cap whose oldest contents are remembered; one more is looked through anew.
const FULL_USERS_MAX: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// It says what is stored: whoever stores something else says so here, or has it forgotten.
pub struct UserCache {
    pub users: LruCache<UserId, CachedUser>,
    pub full: LruCache<UserId, Candidates>,
}

pub struct CachedUser {
    pub row: UserRow,
    /// How many contents are kept; counted when the first new one comes.
    pub contents: Option<u32>,
    current: Option<Current>,
}

/// The row of one content of the user, one with a record: mostly of what is being played.
struct Current {
    record: Record,
    tombstone: Option<Tombstone>,
}

impl UserCache {
    pub fn new(users_max: NonZeroUsize) -> Self {
        UserCache { users: LruCache::new(users_max), full: LruCache::new(FULL_USERS_MAX) }
    }

    /// What is known of the user; `read` is asked if that is nothing.
    pub fn user<E>(&mut self, user: UserId, read: impl FnOnce() -> Result<UserRow, E>) -> Result<&CachedUser, E> {
        // Who was here last is of interest only when somebody has to go, and noting it touches far apart memory.
        if self.users.len() == self.users.cap().get() {
            self.users.promote(&user);
        }
        if !self.users.contains(&user) {
            self.users.put(user, CachedUser::new(read()?));
        }
        Ok(self.users.peek(&user).expect("it is there"))
    }

    /// The stored row of this content, if it is remembered; not any more, then.
    pub fn take_row(&mut self, user: UserId, content: Content) -> Option<ContentRow> {
        let of_content = |current: &mut Current| current.record.content == content;
        let current = self.users.peek_mut(&user)?.current.take_if(of_content)?;
        Some(ContentRow { record: Some(current.record), tombstone: current.tombstone })
    }

    /// Takes notice of a row as it is stored. One that was changed is the one to remember of this user.
    pub fn put_row(&mut self, user: UserId, row: ContentRow, changed: bool) {
        if let Some(record) = row.record
            && let Some(known) = self.users.peek_mut(&user)
            && (changed || known.current.is_none())
        {
            known.current = Some(Current { record, tombstone: row.tombstone });
        }
    }

    /// Takes notice of what is stored of a user beside the contents.
    pub fn put_user(&mut self, user: UserId, row: UserRow, contents: Option<u32>) {
        match self.users.peek_mut(&user) {
            Some(known) => (known.row, known.contents) = (row, contents),
            None => drop(self.users.put(user, CachedUser { contents, ..CachedUser::new(row) })),
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
        Some((record.content, ContentRow { record: Some(record.clone()), tombstone: *tombstone }))
    }
}
