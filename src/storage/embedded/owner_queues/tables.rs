//! The tables, and typed reads of them.
//!
//! | table | key | value |
//! |---|---|---|
//! | `heads` | id | [`Head`] as JSON |
//! | `definitions` | id | [`Subscriber`] as JSON |
//! | `queues` | place, number | time, the event's JSON |
//! | `dead` | incarnation, number | time, reason, the event's JSON |
//! | `changes` | version of an id, the last one | id |
//! | `garbage` | table, place or incarnation | nothing: what is under it can be removed |
//! | `cursors` | part | offset |
//! | | `mark:` and a part | offset and hash of one of its messages |
//!
//! All numbers are `u64`, big-endian, but for the reason: 0 = the queue was full, 1 = too old.

use std::path::Path;
use std::sync::Arc;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode, Readable, Snapshot};

use serde::de::DeserializeOwned;

use super::head::{Head, Live};
use crate::database::{self, Bounds, Journal};
use crate::describe;
use model::subscribers::{Subscriber, SubscriberId, Unreadable};
use storage::event_bus::Offset;
use storage::event_bus::part::Part;
use storage::event_bus::source::LogMark;
use storage::owner_queues::unreadable::UnreadableOwners;
use storage::owner_queues::{Dead, DeadReason, Entry, Number, Version};
use storage::store_error::StoreError;

const MEMTABLE_BYTES: u64 = 8 << 20;
const BOUNDS: Bounds = Bounds { cache_bytes: 16 << 20, journals_bytes_max: 64 << 20, open_files_max: 64 };

#[derive(Clone)]
pub struct Tables {
    database: Database,
    pub heads: Keyspace,
    pub definitions: Keyspace,
    pub queues: Keyspace,
    pub dead: Keyspace,
    pub changes: Keyspace,
    pub garbage: Keyspace,
    pub cursors: Keyspace,
    unreadable: UnreadableOwners,
}

/// The tables as they are at one moment.
pub struct View<'a> {
    pub tables: &'a Tables,
    snapshot: Snapshot,
}

/// A table with events of owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Events {
    Queues,
    Dead,
}

/// Events that can be removed, because their owner or their queue is gone.
pub struct Garbage {
    /// Its own key.
    pub key: Vec<u8>,
    pub events: Events,
    /// The keys of some of the events.
    pub keys: Vec<Vec<u8>>,
}

impl Tables {
    pub fn open(path: &Path, journal: Journal) -> fjall::Result<Self> {
        let database = database::open(path, journal, &BOUNDS)?;
        // Options are kept with a table from when it was made: changing them here changes new stores only.
        let table =
            |name| database.keyspace(name, || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES));
        Ok(Tables {
            heads: table("heads")?,
            definitions: table("definitions")?,
            queues: table("queues")?,
            dead: table("dead")?,
            changes: table("changes")?,
            garbage: table("garbage")?,
            cursors: table("cursors")?,
            unreadable: UnreadableOwners::default(),
            database: database.clone(),
        })
    }

    pub fn view(&self) -> View<'_> {
        View { tables: self, snapshot: self.database.snapshot() }
    }

    /// On disk when it is committed.
    pub fn durable_batch(&self) -> OwnedWriteBatch {
        OwnedWriteBatch::with_capacity(self.database.clone(), 16).durability(Some(PersistMode::SyncData))
    }

    /// In the page cache when it is committed, and on disk after the next durable one.
    pub fn batch(&self) -> OwnedWriteBatch {
        self.database.batch()
    }
}

impl View<'_> {
    /// One that cannot be read is as if there had never been an owner. So nothing is written to it, unless the owner is
    /// put anew.
    pub fn head(&self, id: &SubscriberId) -> Result<Head, StoreError> {
        Ok(self.stored_head(id)?.unwrap_or_default())
    }

    pub fn stored_head(&self, id: &SubscriberId) -> Result<Result<Head, Unreadable>, StoreError> {
        let bytes = self.snapshot.get(&self.tables.heads, id.as_str()).map_err(away)?;
        Ok(bytes.map_or(Ok(Head::default()), |bytes| self.read(id, &bytes)))
    }

    pub fn definition(&self, id: &SubscriberId) -> Result<Result<Arc<Subscriber>, Unreadable>, StoreError> {
        let bytes = self.snapshot.get(&self.tables.definitions, id.as_str()).map_err(away)?;
        Ok(self.read(id, bytes.as_deref().unwrap_or_default()).map(Arc::new))
    }

    fn read<T: DeserializeOwned>(&self, id: &SubscriberId, json: &[u8]) -> Result<T, Unreadable> {
        self.tables.unreadable.readable(id.as_str(), serde_json::from_slice(json)).ok_or(Unreadable)
    }

    /// Calls `each` for the heads after `after` that can be read, in the order of their ids, until it says `false`.
    pub fn heads(
        &self,
        after: Option<&SubscriberId>,
        mut each: impl FnMut(SubscriberId, Head) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let from = after.map(|id| [id.as_str(), "\0"].concat()).unwrap_or_default();
        for row in self.snapshot.range(&self.tables.heads, from..) {
            let (key, value) = row.into_inner().map_err(away)?;
            let id = id_of(&key)?;
            let Ok(head) = self.read(&id, &value) else { continue };
            if !each(id, head)? {
                break;
            }
        }
        Ok(())
    }

    /// The oldest of an owner's queue.
    pub fn entries(&self, live: &Live, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let range = event_key(live.place, live.removed + 1)..event_key(live.place + 1, 0);
        let rows = self.snapshot.range(&self.tables.queues, range);
        rows.take(limit).map(|row| entry_of(row.into_inner().map_err(away)?)).collect()
    }

    /// The oldest of an owner's dead letters after a number.
    pub fn dead(&self, live: &Live, after: Number, limit: usize) -> Result<Vec<Dead>, StoreError> {
        let from = event_key(live.incarnation, after.max(live.dead_removed).saturating_add(1));
        let rows = self.snapshot.range(&self.tables.dead, from..event_key(live.incarnation + 1, 0));
        rows.take(limit).map(|row| dead_of(row.into_inner().map_err(away)?)).collect()
    }

    /// The ids that have changed since a version, and the newest version.
    pub fn changes(&self, since: Version) -> Result<(Version, Vec<SubscriberId>), StoreError> {
        let (mut newest, mut ids) = (since, Vec::new());
        for row in self.snapshot.range(&self.tables.changes, since.saturating_add(1).to_be_bytes()..) {
            let (key, value) = row.into_inner().map_err(away)?;
            newest = number(&key)?;
            ids.push(id_of(&value)?);
        }
        Ok((newest, ids))
    }

    /// The last version that was given.
    pub fn newest_version(&self) -> Result<Version, StoreError> {
        let last = self.snapshot.range::<&[u8], _>(&self.tables.changes, ..).next_back();
        last.map_or(Ok(0), |row| number(&row.into_inner().map_err(away)?.0))
    }

    pub fn cursor(&self, part: &Part) -> Result<Offset, StoreError> {
        let bytes = self.snapshot.get(&self.tables.cursors, part.as_str()).map_err(away)?;
        bytes.map_or(Ok(0), |bytes| number(&bytes))
    }

    pub fn mark(&self, part: &Part) -> Result<Option<LogMark>, StoreError> {
        let Some(bytes) = self.snapshot.get(&self.tables.cursors, mark_key(part)).map_err(away)? else {
            return Ok(None);
        };
        let (offset, hash) = bytes.split_at_checked(8).ok_or_else(|| unreadable("a mark"))?;
        Ok(Some(LogMark { offset: number(offset)?, hash: number(hash)? }))
    }

    /// Returns events that can be removed, with the keys of some of them.
    pub fn garbage(&self, limit: usize) -> Result<Option<Garbage>, StoreError> {
        let Some(row) = self.snapshot.range::<&[u8], _>(&self.tables.garbage, ..).next() else { return Ok(None) };
        let (key, _) = row.into_inner().map_err(away)?;
        let (table, place) = (*key.first().ok_or_else(|| unreadable("garbage"))?, number(&key[1..])?);
        let events = if table == Events::Queues.byte() { Events::Queues } else { Events::Dead };
        let rows = self.snapshot.range(events.of(self.tables), event_key(place, 0)..event_key(place + 1, 0));
        let keys = rows.take(limit).map(|row| Ok(row.into_inner().map_err(away)?.0.to_vec()));
        Ok(Some(Garbage { key: key.to_vec(), events, keys: keys.collect::<Result<_, StoreError>>()? }))
    }
}

impl Events {
    pub fn of(self, tables: &Tables) -> &Keyspace {
        match self {
            Events::Queues => &tables.queues,
            Events::Dead => &tables.dead,
        }
    }

    fn byte(self) -> u8 {
        match self {
            Events::Queues => b'q',
            Events::Dead => b'd',
        }
    }

    pub fn garbage_key(self, place: Version) -> Vec<u8> {
        [&[self.byte()][..], &place.to_be_bytes()].concat()
    }
}

pub fn event_key(place: Version, number: Number) -> [u8; 16] {
    (u128::from(place) << 64 | u128::from(number)).to_be_bytes()
}

pub fn mark_key(part: &Part) -> String {
    format!("mark:{part}")
}

pub fn mark_value(LogMark { offset, hash }: LogMark) -> [u8; 16] {
    (u128::from(offset) << 64 | u128::from(hash)).to_be_bytes()
}

pub fn entry_value(queued_at: u64, event: &str) -> Vec<u8> {
    [&queued_at.to_be_bytes(), event.as_bytes()].concat()
}

pub fn dead_value(at: u64, reason: DeadReason, event: &str) -> Vec<u8> {
    [&at.to_be_bytes()[..], &[reason as u8], event.as_bytes()].concat()
}

fn entry_of((key, value): (impl AsRef<[u8]>, impl AsRef<[u8]>)) -> Result<Entry, StoreError> {
    let (at, event) = value.as_ref().split_first_chunk().ok_or_else(|| unreadable("an event"))?;
    Ok(Entry { number: number_of(key.as_ref())?, queued_at: u64::from_be_bytes(*at), event: text(event)? })
}

fn dead_of((key, value): (impl AsRef<[u8]>, impl AsRef<[u8]>)) -> Result<Dead, StoreError> {
    let (at, rest) = value.as_ref().split_first_chunk().ok_or_else(|| unreadable("a dead letter"))?;
    let (reason, event) = rest.split_first().ok_or_else(|| unreadable("a dead letter"))?;
    let reason = if *reason == 0 { DeadReason::QueueFull } else { DeadReason::TooOld };
    Ok(Dead { number: number_of(key.as_ref())?, event: text(event)?, reason, at: u64::from_be_bytes(*at) })
}

fn number_of(event_key: &[u8]) -> Result<Number, StoreError> {
    number(event_key.get(8..).unwrap_or_default())
}

fn number(bytes: &[u8]) -> Result<u64, StoreError> {
    bytes.try_into().map(u64::from_be_bytes).map_err(|_| unreadable("a number"))
}

fn text(bytes: &[u8]) -> Result<Arc<str>, StoreError> {
    std::str::from_utf8(bytes).map(Arc::from).map_err(|_| unreadable("an event"))
}

fn id_of(bytes: &[u8]) -> Result<SubscriberId, StoreError> {
    let text = std::str::from_utf8(bytes).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| unreadable("an id"))
}

fn unreadable(what: &str) -> StoreError {
    StoreError::Away(format!("queues of subscribers: {what} is unreadable"))
}

pub fn away(error: fjall::Error) -> StoreError {
    StoreError::Away(format!("queues of subscribers: {}", describe(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::tests::is_unwritten;

    /// So a journal that was just made is not written anew.
    #[test]
    fn making_the_tables_writes_nothing_to_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        drop(Tables::open(dir.path(), Journal::New).unwrap());
        assert!(is_unwritten(dir.path()));
    }
}
