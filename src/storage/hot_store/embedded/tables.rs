//! The tables, and typed reads of them.
//!
//! | table | key | value |
//! |---|---|---|
//! | `contents` | user, kind, oid | all that is kept of one user in one content |
//! | `users` | user | what is kept of one user beside it; missing = nothing was ever forgotten |
//! | `meta` | `newest_commit` | server-clock milliseconds |
//!
//! One stored entry for each beat that is written, therefore: the list is sorted when it is asked for.

use std::path::Path;

use fjall::config::HashRatioPolicy;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode, Readable, Snapshot};

use super::codec::{self, Malformed};
use crate::model::forgetting::{ContentRow, UserRow};
use crate::model::ids::{Content, UserId};
use crate::storage::embedded::describe;

/// Bytes of the table of contents in the making, which is in memory: the more, the more beats of one content become one
/// entry on disk. When the disk cannot follow, four more wait for it; then commits wait too.
pub const MEMTABLE_BYTES: u64 = 16 << 20;
const SMALL_MEMTABLE_BYTES: u64 = 2 << 20;
/// Bytes of sealed journals beyond which tables are written early, so that journals can go. Bounds what a start replays.
const JOURNALS_BYTES_MAX: u64 = 128 << 20;
/// Table files kept open.
const OPEN_FILES_MAX: usize = 256;
/// Threads that write and merge tables.
const WORKERS: usize = 1;
const NEWEST_COMMIT: &str = "newest_commit";

/// A read failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// May pass, such as a lack of file descriptors.
    #[error("{0}")]
    Io(String),
    /// The store is not what was written.
    #[error("{0}")]
    Damaged(String),
}

#[derive(Clone)]
pub struct Tables {
    database: Database,
    pub contents: Keyspace,
    pub users: Keyspace,
    pub meta: Keyspace,
}

/// The tables as they are at one moment.
pub struct View<'a> {
    tables: &'a Tables,
    snapshot: Snapshot,
}

impl Tables {
    pub fn open(path: &Path, cache_bytes: u64) -> fjall::Result<Self> {
        let database = Database::builder(path)
            .cache_size(cache_bytes)
            .max_journaling_size(JOURNALS_BYTES_MAX)
            .max_cached_files(Some(OPEN_FILES_MAX))
            .worker_threads(WORKERS)
            .open()?;
        // Options are kept with a table from when it was made: changing them here changes new stores only.
        let small = || KeyspaceCreateOptions::default().max_memtable_size(SMALL_MEMTABLE_BYTES);
        let contents = || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(MEMTABLE_BYTES)
                .data_block_hash_ratio_policy(HashRatioPolicy::all(0.75))
        };
        Ok(Tables {
            contents: database.keyspace("contents", contents)?,
            users: database.keyspace("users", small)?,
            meta: database.keyspace("meta", small)?,
            database,
        })
    }

    pub fn view(&self) -> View<'_> {
        View { tables: self, snapshot: self.database.snapshot() }
    }

    /// A batch that is in the page cache when it is committed, and on disk after the next durable one.
    pub fn batch(&self) -> OwnedWriteBatch {
        self.database.batch()
    }

    /// A batch that is on disk when it is committed. `entries`: about how many it will have.
    pub fn durable_batch(&self, entries: usize) -> OwnedWriteBatch {
        OwnedWriteBatch::with_capacity(self.database.clone(), entries).durability(Some(PersistMode::SyncData))
    }

    pub fn put_newest_commit(&self, batch: &mut OwnedWriteBatch, now: u64) {
        batch.insert(&self.meta, NEWEST_COMMIT, now.to_be_bytes());
    }
}

impl View<'_> {
    pub fn content(&self, user: UserId, content: Content) -> Result<Option<ContentRow>, ReadError> {
        let bytes = self.snapshot.get(&self.tables.contents, codec::content_key(user, content))?;
        Ok(bytes.map(|bytes| codec::parse_content(content, &bytes)).transpose()?)
    }

    pub fn user(&self, user: UserId) -> Result<UserRow, ReadError> {
        let bytes = self.snapshot.get(&self.tables.users, codec::user_key(user))?;
        Ok(bytes.map(|bytes| codec::parse_user(&bytes)).transpose()?.unwrap_or_default())
    }

    /// All rows of a user, in the order of their contents.
    pub fn contents_of(&self, user: UserId) -> impl Iterator<Item = Result<(Content, ContentRow), ReadError>> {
        self.snapshot.prefix(&self.tables.contents, codec::user_key(user)).map(|entry| {
            let (key, value) = entry.into_inner()?;
            let (_, content) = codec::parse_content_key(&key)?;
            Ok((content, codec::parse_content(content, &value)?))
        })
    }

    pub fn count_of(&self, user: UserId) -> Result<u32, ReadError> {
        let mut count = 0;
        for entry in self.snapshot.prefix(&self.tables.contents, codec::user_key(user)) {
            entry.key()?;
            count += 1;
        }
        Ok(count)
    }

    /// Rows of all users from this place on, in the order of their keys.
    pub fn contents_from(
        &self,
        user: UserId,
        content: Content,
    ) -> impl Iterator<Item = Result<(UserId, Content, ContentRow), ReadError>> {
        let from = codec::content_key(user, content);
        self.snapshot.range(&self.tables.contents, from..).map(|entry| {
            let (key, value) = entry.into_inner()?;
            let (user, content) = codec::parse_content_key(&key)?;
            Ok((user, content, codec::parse_content(content, &value)?))
        })
    }

    /// Rows of users from this one on.
    pub fn users_from(&self, user: UserId) -> impl Iterator<Item = Result<(UserId, UserRow), ReadError>> {
        self.snapshot.range(&self.tables.users, codec::user_key(user)..).map(|entry| {
            let (key, value) = entry.into_inner()?;
            Ok((UserId(codec::parse_number(&key)?), codec::parse_user(&value)?))
        })
    }

    /// The server's clock at the newest commit that changed anything; 0 = there was none.
    pub fn newest_commit(&self) -> Result<u64, ReadError> {
        let bytes = self.snapshot.get(&self.tables.meta, NEWEST_COMMIT)?;
        Ok(bytes.map(|bytes| codec::parse_number(&bytes)).transpose()?.unwrap_or(0))
    }
}

impl From<fjall::Error> for ReadError {
    fn from(error: fjall::Error) -> Self {
        match &error {
            fjall::Error::Io(_) | fjall::Error::Storage(fjall::LsmError::Io(_)) => ReadError::Io(describe(&error)),
            _ => ReadError::Damaged(describe(&error)),
        }
    }
}

impl From<Malformed> for ReadError {
    fn from(error: Malformed) -> Self {
        ReadError::Damaged(error.to_string())
    }
}
