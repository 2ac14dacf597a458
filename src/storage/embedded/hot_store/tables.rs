//! The tables, and typed reads of them.
//!
//! | table | key | value |
//! |---|---|---|
//! | `contents` | user, kind, oid | the row of one content of a user |
//! | `users` | user | the row of clears and pauses of a user; missing = there were none |
//! | `meta` | `newest_commit` | server-clock milliseconds |
//! | `meta` | `calendar` | the newest day of the rewards |
//! | `meta` | `id` | random: tells this store from others |
//! | `outbox` | number | an entry whose event is not published yet |
//! | `claims-…`, one for each day | see `claims.rs` | |
//! | `views`, `view-days`, `view-marks-…` | see `views/tables.rs` | |
//! | `notices` | see `notices.rs` | |
//! | `direct`, `direct-requests-…` | see `direct/tables.rs` | |
//! | `names`, `name-texts` | see `names/tables.rs` | |
//!
//! So each written beat stores one entry, and the list is sorted when it is read.

use std::ops::Bound;
use std::path::Path;

use fjall::config::HashRatioPolicy;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode, Readable, Snapshot};

use super::claims;
use super::codec::{self, DecodeError};
use super::day_tables::DayTables;
use crate::database::{self, Bounds, Journal};
use crate::describe;
use model::forgetting::{ContentRow, UserRow};
use model::ids::{Content, UserId};
use model::outbox_entry::OutboxEntry;
use model::rewards::calendar::StoredCalendar;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::shard::Shard;
use storage::outbox::OutboxNumber;

/// Bytes of the table of contents in memory. With more bytes, more beats of one content become one entry on disk. When
/// the disk cannot keep up, four more such tables wait for it; then commits wait too.
pub const MEMTABLE_BYTES: u64 = 16 << 20;
const SMALL_MEMTABLE_BYTES: u64 = 2 << 20;
const JOURNALS_BYTES_MAX: u64 = 128 << 20;
const OPEN_FILES_MAX: usize = 256;
const NEWEST_COMMIT: &str = "newest_commit";
const CALENDAR: &str = "calendar";
const ID: &str = "id";

/// A read failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A failure that may pass, such as a lack of file descriptors.
    #[error("{0}")]
    Io(String),
    /// The store has other bytes than were written.
    #[error("{0}")]
    Damaged(String),
}

#[derive(Clone)]
pub struct Tables {
    pub database: Database,
    pub contents: Keyspace,
    pub users: Keyspace,
    pub meta: Keyspace,
    pub outbox: Keyspace,
    pub claims: DayTables,
}

/// The tables as they are at one moment.
pub struct View<'a> {
    tables: &'a Tables,
    pub snapshot: Snapshot,
}

impl Tables {
    pub fn open(path: &Path, journal: Journal, cache_bytes: u64) -> fjall::Result<Self> {
        let bounds = Bounds { cache_bytes, journals_bytes_max: JOURNALS_BYTES_MAX, open_files_max: OPEN_FILES_MAX };
        let database = database::open(path, journal, &bounds)?;
        // Options of a table are stored when it is created: changes here affect new stores only.
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
            outbox: database.keyspace("outbox", small)?,
            claims: claims::open(&database)?,
            database,
        })
    }

    pub fn view(&self) -> View<'_> {
        self.view_at(self.database.snapshot())
    }

    /// The tables as they were when the snapshot was taken.
    pub fn view_at(&self, snapshot: Snapshot) -> View<'_> {
        View { tables: self, snapshot }
    }

    /// A batch that is in the page cache when it is committed, and on disk after the next durable batch.
    pub fn batch(&self) -> OwnedWriteBatch {
        self.database.batch()
    }

    /// A batch that is on disk when it is committed. `entries`: its approximate number of entries.
    pub fn durable_batch(&self, entries: usize) -> OwnedWriteBatch {
        OwnedWriteBatch::with_capacity(self.database.clone(), entries).durability(Some(PersistMode::SyncData))
    }

    /// Whether the tables can still be written. Waits for a commit that is being synced.
    pub fn check(&self) -> fjall::Result<()> {
        self.database.persist(PersistMode::Buffer)
    }

    /// The id of the store, made at its first opening.
    pub fn id(&self) -> fjall::Result<String> {
        if let Some(id) = self.meta.get(ID)? {
            return Ok(String::from_utf8_lossy(&id).into_owned());
        }
        let id = format!("{:016x}", rand::random::<u64>());
        let mut batch = self.durable_batch(1);
        batch.insert(&self.meta, ID, id.as_bytes());
        batch.commit()?;
        Ok(id)
    }

    pub fn put_newest_commit(&self, batch: &mut OwnedWriteBatch, now: u64) {
        batch.insert(&self.meta, NEWEST_COMMIT, now.to_be_bytes());
    }

    pub fn put_calendar(&self, batch: &mut OwnedWriteBatch, calendar: &StoredCalendar) {
        batch.insert(&self.meta, CALENDAR, codec::calendar(calendar));
    }
}

impl View<'_> {
    /// The snapshot, for a later view of the same moment.
    pub fn into_snapshot(self) -> Snapshot {
        self.snapshot
    }

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
        self.contents_in(user, Bound::Included(Content::FIRST), Content::LAST)
    }

    /// The user's rows from one content to another, in their order. Unbounded, it would begin with other users' rows.
    pub fn contents_in(
        &self,
        user: UserId,
        from: Bound<Content>,
        to: Content,
    ) -> impl Iterator<Item = Result<(Content, ContentRow), ReadError>> {
        let key = |content| codec::content_key(user, content);
        self.snapshot.range(&self.tables.contents, (from.map(key), Bound::Included(key(to)))).map(|entry| {
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

    /// Rows of all users from this position on, in the order of their keys.
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

    /// The server's clock at the newest commit that changed anything; 0 = no commit.
    pub fn newest_commit(&self) -> Result<u64, ReadError> {
        let bytes = self.snapshot.get(&self.tables.meta, NEWEST_COMMIT)?;
        Ok(bytes.map(|bytes| codec::parse_number(&bytes)).transpose()?.unwrap_or(0))
    }

    /// The newest day with a commit; `None`: no commit.
    pub fn calendar(&self) -> Result<Option<StoredCalendar>, ReadError> {
        let bytes = self.snapshot.get(&self.tables.meta, CALENDAR)?;
        Ok(bytes.map(|bytes| codec::parse_calendar(&bytes)).transpose()?)
    }

    /// Whether a claim of this key is stored.
    pub fn is_claimed(&self, day: Day, key: &[u8]) -> Result<bool, ReadError> {
        let Some(table) = self.tables.claims.of(day) else { return Ok(false) };
        Ok(self.snapshot.contains_key(&table, key)?)
    }

    /// The claims of a user on a day, at most `limit`; those of rules per user come first.
    pub fn claims_of(&self, user: UserId, day: Day, limit: usize) -> Result<Vec<ClaimKey>, ReadError> {
        self.claims(day, &claims::user_prefix(user), limit)
    }

    pub fn claims_per_user(&self, user: UserId, day: Day) -> Result<Vec<ClaimKey>, ReadError> {
        self.claims(day, &claims::per_user_prefix(user), usize::MAX)
    }

    pub fn claims_in(&self, shard: Shard, day: Day) -> Result<Vec<ClaimKey>, ReadError> {
        self.claims(day, &claims::shard_prefix(shard), usize::MAX)
    }

    fn claims(&self, day: Day, prefix: &[u8], limit: usize) -> Result<Vec<ClaimKey>, ReadError> {
        let Some(table) = self.tables.claims.of(day) else { return Ok(Vec::new()) };
        let claims = self.snapshot.prefix(&table, prefix).map(|entry| Ok(claims::parse_key(day, &entry.key()?)?));
        claims.filter(|claim| !claim.as_ref().is_ok_and(ClaimKey::is_view)).take(limit).collect()
    }

    /// The user's claims of all days that are kept, as keys of their tables.
    pub fn all_claims_of(&self, user: UserId) -> Result<Vec<(Day, Keyspace, fjall::Slice)>, ReadError> {
        let mut found = Vec::new();
        for (day, table) in self.tables.claims.all() {
            for entry in self.snapshot.prefix(&table, claims::user_prefix(user)) {
                found.push((day, table.clone(), entry.key()?));
            }
        }
        Ok(found)
    }

    pub fn outbox(&self, after: OutboxNumber, limit: usize) -> Result<Vec<(OutboxNumber, OutboxEntry)>, ReadError> {
        let from = after.saturating_add(1).to_be_bytes();
        let entries = self.snapshot.range(&self.tables.outbox, from..).take(limit);
        let numbered = |entry: fjall::Guard| {
            let (key, value) = entry.into_inner()?;
            Ok((codec::parse_number(&key)?, codec::parse_outbox_entry(&value)?))
        };
        entries.map(numbered).collect()
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

impl From<DecodeError> for ReadError {
    fn from(error: DecodeError) -> Self {
        ReadError::Damaged(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::tests::is_unwritten;

    /// So a journal that was just made is not written anew.
    #[test]
    fn making_the_tables_writes_nothing_to_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        drop(Tables::open(dir.path(), Journal::New, 1 << 20).unwrap());
        assert!(is_unwritten(dir.path()));
    }
}
