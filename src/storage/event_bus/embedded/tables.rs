//! The tables of the log, and typed reads of them.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode, Readable, Snapshot};

use super::codec::{self, Entry, Malformed, State};
use super::segments::Segments;
use crate::storage::embedded::describe;
use crate::storage::event_bus::{BusError, Offset};

/// Bytes of the table of the state in the making, which is in memory.
const MEMTABLE_BYTES: u64 = 1 << 20;
/// Bytes of blocks kept in memory for reads: whoever tails reads what was written last, which is in memory anyhow.
const CACHE_BYTES: u64 = 4 << 20;
/// Bytes of sealed journals beyond which tables are written early; the least that fjall takes.
const JOURNALS_BYTES_MAX: u64 = 64 << 20;
const OPEN_FILES_MAX: usize = 64;
const WORKERS: usize = 1;
const STATE: &str = "state";

#[derive(Clone)]
pub struct Tables {
    database: Database,
    pub segments: Segments,
    state: Keyspace,
}

/// The log as it is at one moment.
pub struct View<'a> {
    tables: &'a Tables,
    snapshot: Snapshot,
}

impl Tables {
    pub fn open(path: &Path) -> fjall::Result<Self> {
        let database = Database::builder(path)
            .cache_size(CACHE_BYTES)
            .max_journaling_size(JOURNALS_BYTES_MAX)
            .max_cached_files(Some(OPEN_FILES_MAX))
            .worker_threads(WORKERS)
            .open()?;
        // Options are kept with a table from when it was made: changing them here changes new logs only.
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        Ok(Tables { segments: Segments::open(&database)?, state: database.keyspace("state", options)?, database })
    }

    pub fn view(&self) -> View<'_> {
        View { tables: self, snapshot: self.database.snapshot() }
    }

    /// A batch that is in the page cache when it is committed, and on disk after the next durable one.
    pub fn batch(&self) -> OwnedWriteBatch {
        self.database.batch()
    }

    /// A batch that is on disk when it is committed.
    pub fn durable_batch(&self, entries: usize) -> OwnedWriteBatch {
        OwnedWriteBatch::with_capacity(self.database.clone(), entries).durability(Some(PersistMode::SyncData))
    }

    pub fn put_state(&self, batch: &mut OwnedWriteBatch, state: State) {
        batch.insert(&self.state, STATE, state.to_bytes());
    }
}

impl View<'_> {
    pub fn state(&self) -> Result<State, BusError> {
        let bytes = self.snapshot.get(&self.tables.state, STATE)?;
        Ok(bytes.map(|bytes| State::parse(&bytes)).transpose()?.unwrap_or_default())
    }

    /// What `read` makes of the entry at this offset; `None` if there is none.
    pub fn entry<T>(&self, offset: Offset, read: impl FnOnce(Entry) -> T) -> Result<Option<T>, BusError> {
        let Some(segment) = self.tables.segments.of(offset) else { return Ok(None) };
        let bytes = self.snapshot.get(&segment, codec::key(offset))?;
        Ok(bytes.map(|bytes| Entry::parse(&bytes).map(read)).transpose()?)
    }

    /// Calls `each` for the entries from this offset on, in their order, until it says `false`.
    pub fn entries_from(&self, from: Offset, mut each: impl FnMut(Offset, Entry) -> bool) -> Result<(), BusError> {
        // A segment that was begun after the snapshot has nothing in it; one that has been removed since is not needed.
        for segment in self.tables.segments.from(from) {
            for entry in self.snapshot.range(&segment, codec::key(from)..) {
                let (key, value) = entry.into_inner()?;
                if !each(codec::parse_key(&key)?, Entry::parse(&value)?) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

impl From<fjall::Error> for BusError {
    fn from(error: fjall::Error) -> Self {
        BusError(describe(&error))
    }
}

impl From<Malformed> for BusError {
    fn from(malformed: Malformed) -> Self {
        BusError(malformed.to_string())
    }
}
