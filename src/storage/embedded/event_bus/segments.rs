//! The events, cut into segments with a table each. Events that can no longer be read are removed with their table,
//! whole files at once, and not key by key.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fjall::{Database, Keyspace, KeyspaceCreateOptions};
use parking_lot::{RwLock, RwLockReadGuard};

use storage::event_bus::Offset;
use storage::event_bus::config::Config;

const PREFIX: &str = "entries-";
/// Bytes of a table in memory; each segment may have one.
const MEMTABLE_BYTES: u64 = 2 << 20;
/// About how many segments there are, by size and by time.
const COUNT: u32 = 16;
const BYTES_MIN: u64 = 1 << 20;
const BYTES_MAX: u64 = 64 << 20;
const SPAN_MIN: Duration = Duration::from_secs(60);

/// Their tables, by the offset of the first event.
#[derive(Clone)]
pub struct Segments {
    database: Database,
    tables: Arc<RwLock<BTreeMap<Offset, Keyspace>>>,
}

/// When a segment is long enough.
pub struct Length {
    bytes: u64,
    span_ms: u64,
}

impl Segments {
    pub fn open(database: &Database) -> fjall::Result<Self> {
        let mut tables = BTreeMap::new();
        for name in database.list_keyspace_names() {
            if let Some(first) = name.strip_prefix(PREFIX).and_then(|first| first.parse().ok()) {
                tables.insert(first, database.keyspace(&name, options)?);
            }
        }
        Ok(Segments { database: database.clone(), tables: Arc::new(RwLock::new(tables)) })
    }

    /// Makes the segment that begins with this offset, or finds it.
    pub fn begin(&self, first: Offset) -> fjall::Result<Keyspace> {
        let table = self.database.keyspace(&format!("{PREFIX}{first}"), options)?;
        self.tables.write().insert(first, table.clone());
        Ok(table)
    }

    /// The newest, with the offset it begins with.
    pub fn newest(&self) -> Option<(Offset, Keyspace)> {
        self.tables().last_key_value().map(|(first, table)| (*first, table.clone()))
    }

    /// The one that has this offset, if any has.
    pub fn of(&self, offset: Offset) -> Option<Keyspace> {
        self.tables().range(..=offset).next_back().map(|(_, table)| table.clone())
    }

    /// Those that have this offset or later ones, in their order.
    pub fn from(&self, offset: Offset) -> Vec<Keyspace> {
        let tables = self.tables();
        let first = tables.range(..=offset).next_back().map_or(offset, |(first, _)| *first);
        tables.range(first..).map(|(_, table)| table.clone()).collect()
    }

    /// Those that end before this offset, and with `newest` the newest of all as well.
    pub fn before(&self, offset: Offset, newest: bool) -> Vec<Offset> {
        let tables = self.tables();
        let next = tables.keys().skip(1).map(Some).chain([None]);
        let ended = tables.keys().zip(next).filter(|(_, next)| next.map_or(newest, |next| *next <= offset));
        ended.map(|(first, _)| *first).collect()
    }

    /// Removes the segment that begins with this offset. Its files go when the last reader has closed them.
    pub fn remove(&self, first: Offset) -> fjall::Result<()> {
        match self.tables.write().remove(&first) {
            Some(table) => self.database.delete_keyspace(table),
            None => Ok(()),
        }
    }

    fn tables(&self) -> RwLockReadGuard<'_, BTreeMap<Offset, Keyspace>> {
        self.tables.read()
    }
}

impl Length {
    pub fn of(config: &Config) -> Self {
        let bytes = (config.retention_bytes / u64::from(COUNT)).clamp(BYTES_MIN, BYTES_MAX);
        Length { bytes, span_ms: (config.retention / COUNT).max(SPAN_MIN).as_millis() as u64 }
    }

    pub fn is_reached(&self, bytes: u64, span_ms: u64) -> bool {
        bytes >= self.bytes || span_ms >= self.span_ms
    }
}

fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES)
}
