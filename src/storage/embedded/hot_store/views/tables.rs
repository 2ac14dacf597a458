//! The tables of the views, and typed reads of them.
//!
//! | table | key | value |
//! |---|---|---|
//! | `views` | kind, oid | all views; missing = no views |
//! | `view-days` | kind, oid, day | the views of one day |
//! | `view-marks-…`, one for each day | user, kind, oid, session | empty: the session was counted on that day |
//!
//! Numbers are big-endian.

use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, Readable, Slice, Snapshot};

use crate::hot_store::codec::{self, DecodeError};
use crate::hot_store::day_tables::DayTables;
use crate::hot_store::tables::ReadError;
use model::ids::{Content, SessionId, UserId};
use model::rewards::day::Day;

/// Today and yesterday.
const MARKED_DAYS: u16 = 2;
const MEMTABLE_BYTES: u64 = 8 << 20;

#[derive(Clone)]
pub struct ViewTables {
    totals: Keyspace,
    days: Keyspace,
    marks: DayTables,
}

/// A session of a user in a content.
pub type MarkKey = [u8; 26];

impl ViewTables {
    pub fn open(database: &Database) -> fjall::Result<Self> {
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        Ok(ViewTables {
            totals: database.keyspace("views", options)?,
            days: database.keyspace("view-days", options)?,
            marks: DayTables::open(database, "view-marks-", MARKED_DAYS)?,
        })
    }

    pub fn put_total(&self, batch: &mut OwnedWriteBatch, content: Content, views: u64) {
        put(batch, &self.totals, content_key(content).as_slice(), views);
    }

    pub fn put_day(&self, batch: &mut OwnedWriteBatch, content: Content, day: Day, views: u64) {
        put(batch, &self.days, day_key(content, day).as_slice(), views);
    }

    /// Puts marks of a day. Creates the table of the day if it is missing, and then removes the oldest table.
    pub fn put_marks(
        &self,
        batch: &mut OwnedWriteBatch,
        day: Day,
        marks: impl Iterator<Item = MarkKey>,
    ) -> fjall::Result<()> {
        let table = self.marks.of_or_new(day)?;
        marks.for_each(|mark| batch.insert(&table, mark, []));
        Ok(())
    }
}

/// Puts a number; 0 removes the entry.
fn put(batch: &mut OwnedWriteBatch, table: &Keyspace, key: &[u8], views: u64) {
    match views {
        0 => batch.remove(table, key),
        views => batch.insert(table, key, views.to_be_bytes()),
    }
}

impl ViewTables {
    pub fn total(&self, snapshot: &Snapshot, content: Content) -> Result<u64, ReadError> {
        number(snapshot, &self.totals, &content_key(content))
    }

    pub fn on(&self, snapshot: &Snapshot, content: Content, day: Day) -> Result<u64, ReadError> {
        number(snapshot, &self.days, &day_key(content, day))
    }

    /// The days with views from one day to another, both included, in their order.
    pub fn between(
        &self,
        snapshot: &Snapshot,
        content: Content,
        from: Day,
        to: Day,
    ) -> Result<Vec<(Day, u64)>, ReadError> {
        let days = snapshot.range(&self.days, day_key(content, from)..=day_key(content, to)).map(|entry| {
            let (key, views) = entry.into_inner()?;
            Ok((parse_day(&key)?, codec::parse_number(&views)?))
        });
        days.collect()
    }

    /// Whether the session was counted on the day, the day before, or the day after.
    pub fn is_marked(&self, snapshot: &Snapshot, day: Day, mark: &MarkKey) -> Result<bool, ReadError> {
        for table in day.around().into_iter().filter_map(|day| self.marks.of(day)) {
            if snapshot.contains_key(&table, mark)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// All marks of the user's sessions, each with its table.
    pub fn marks_of(&self, snapshot: &Snapshot, user: UserId) -> Result<Vec<(Keyspace, Slice)>, ReadError> {
        let mut found = Vec::new();
        for (_, table) in self.marks.all() {
            for entry in snapshot.prefix(&table, codec::user_key(user)) {
                found.push((table.clone(), entry.key()?));
            }
        }
        Ok(found)
    }
}

fn number(snapshot: &Snapshot, table: &Keyspace, key: &[u8]) -> Result<u64, ReadError> {
    let bytes = snapshot.get(table, key)?;
    Ok(bytes.map(|bytes| codec::parse_number(&bytes)).transpose()?.unwrap_or(0))
}

fn content_key(Content { kind, oid }: Content) -> [u8; 10] {
    let mut key = [0; 10];
    key[..2].copy_from_slice(&kind.to_be_bytes());
    key[2..].copy_from_slice(&oid.to_be_bytes());
    key
}

fn day_key(content: Content, day: Day) -> [u8; 12] {
    let mut key = [0; 12];
    key[..10].copy_from_slice(&content_key(content));
    key[10..].copy_from_slice(&day.number().to_be_bytes());
    key
}

fn parse_day(key: &[u8]) -> Result<Day, DecodeError> {
    let (_, day) = key
        .split_last_chunk::<2>()
        .filter(|(content, _)| content.len() == 10)
        .ok_or_else(|| DecodeError::of(format!("the key of a day of views has {} bytes", key.len())))?;
    Ok(Day::of_number(u16::from_be_bytes(*day)))
}

pub fn mark_key(user: UserId, content: Content, SessionId(session): SessionId) -> MarkKey {
    let mut key = [0; 26];
    key[..18].copy_from_slice(&codec::content_key(user, content));
    key[18..].copy_from_slice(&session.to_be_bytes());
    key
}
