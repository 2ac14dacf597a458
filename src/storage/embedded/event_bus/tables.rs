//! The tables of the log, and typed reads of them.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode, Readable, Snapshot};

use super::codec::{self, Entry, State};
use super::error::LogError;
use super::segments::Segments;
use crate::database::{self, Bounds, Journal};
use storage::event_bus::Offset;

/// Bytes of the table of the state in the making, which is in memory.
const MEMTABLE_BYTES: u64 = 1 << 20;
/// A small cache, since readers mostly read what was written last, which is in memory anyway; and the least journals
/// that fjall takes.
const BOUNDS: Bounds = Bounds { cache_bytes: 4 << 20, journals_bytes_max: 64 << 20, open_files_max: 64 };
const STATE: &str = "state";
const ID: &str = "id";

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
    pub fn open(path: &Path, journal: Journal) -> fjall::Result<Self> {
        let database = database::open(path, journal, &BOUNDS)?;
        // Options are kept with a table from when it was made: changing them here changes new logs only.
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        Ok(Tables { segments: Segments::open(&database)?, state: database.keyspace("state", options)?, database })
    }

    /// Gives the log its id, unless it has one.
    pub fn ensure_id(&self) -> fjall::Result<()> {
        if self.state.contains_key(ID)? {
            return Ok(());
        }
        let mut batch = self.durable_batch(1);
        batch.insert(&self.state, ID, format!("{:032x}", rand::random::<u128>()));
        batch.commit()
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
    pub fn state(&self) -> Result<State, LogError> {
        let bytes = self.snapshot.get(&self.tables.state, STATE)?;
        Ok(bytes.map(|bytes| State::parse(&bytes)).transpose()?.unwrap_or_default())
    }

    pub fn id(&self) -> Result<String, LogError> {
        let id = self.snapshot.get(&self.tables.state, ID)?.ok_or_else(|| LogError("it has no id".to_owned()))?;
        Ok(String::from_utf8_lossy(&id).into_owned())
    }

    /// Returns the result of `read` for the entry at this offset; `None` if there is no such entry.
    pub fn entry<T>(&self, offset: Offset, read: impl FnOnce(Entry) -> T) -> Result<Option<T>, LogError> {
        let Some(segment) = self.tables.segments.of(offset) else { return Ok(None) };
        let bytes = self.snapshot.get(&segment, codec::key(offset))?;
        Ok(bytes.map(|bytes| Entry::parse(&bytes).map(read)).transpose()?)
    }

    /// Calls `each` for the entries from this offset on, in their order, until it says `false`.
    pub fn entries_from(&self, from: Offset, mut each: impl FnMut(Offset, Entry) -> bool) -> Result<(), LogError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::tests::is_unwritten;

    /// So a journal that was just made is not written anew.
    #[test]
    fn making_the_tables_writes_nothing_to_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let tables = Tables::open(dir.path(), Journal::New).unwrap();
        assert!(is_unwritten(dir.path()));
        tables.ensure_id().unwrap();
        assert!(!is_unwritten(dir.path()));
    }
}
