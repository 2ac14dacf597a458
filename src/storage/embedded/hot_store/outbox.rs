//! The outbox: entries in the order in which they were made.
//!
//! | key | value |
//! |---|---|
//! | number, big-endian | the entry, a protobuf message |
//!
//! Numbers grow, and have gaps where entries were removed before older ones.

use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::EmbeddedStore;
use super::codec;
use super::read::Asker;
use super::tables::{ReadError, Tables};
use model::outbox_entry::OutboxEntry;
use storage::hot_store::Answer;
use storage::outbox::{Outbox, OutboxNumber};

/// The end of the outbox and its number of entries. Only the group writer adds entries.
#[derive(Debug)]
pub struct Extent {
    next: AtomicU64,
    entries: AtomicU64,
    /// Held while entries are removed, so that each is counted once.
    removal: Mutex<()>,
}

impl Extent {
    /// Reads all keys, which is quick since an outbox is bounded.
    pub fn read(tables: &Tables) -> Result<Self, ReadError> {
        let last = tables.outbox.last_key_value().map(|last| Ok::<_, ReadError>(codec::parse_number(&last.key()?)?));
        let next = last.transpose()?.map_or(1, |last| last + 1);
        let entries = tables.outbox.len()? as u64;
        Ok(Extent { next: AtomicU64::new(next), entries: AtomicU64::new(entries), removal: Mutex::default() })
    }

    pub fn next(&self) -> OutboxNumber {
        self.next.load(Ordering::Relaxed)
    }

    /// Counts added entries.
    pub fn added(&self, count: u64) {
        self.next.fetch_add(count, Ordering::Relaxed);
        self.entries.fetch_add(count, Ordering::Relaxed);
    }

    pub fn len(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    fn remove(&self, tables: &Tables, mut numbers: Vec<OutboxNumber>) -> Result<(), ReadError> {
        let _removal = self.removal.lock();
        numbers.sort_unstable();
        numbers.dedup();
        let (mut batch, mut removed) = (tables.batch(), 0);
        for key in numbers.into_iter().map(OutboxNumber::to_be_bytes) {
            if tables.outbox.contains_key(key)? {
                batch.remove(&tables.outbox, key);
                removed += 1;
            }
        }
        batch.commit()?;
        self.entries.fetch_sub(removed, Ordering::Relaxed);
        Ok(())
    }
}

impl Outbox for EmbeddedStore {
    fn read(&self, after: OutboxNumber, limit: usize) -> Answer<Vec<(OutboxNumber, OutboxEntry)>> {
        self.readers.ask(Asker::Gateway, move |view| view.outbox(after, limit))
    }

    fn remove(&self, numbers: Vec<OutboxNumber>) -> Answer<()> {
        let shared = self.shared.clone();
        if let Err(error) = shared.room.require() {
            return Box::pin(ready(Err(error)));
        }
        self.readers.ask(Asker::Gateway, move |_| shared.outbox.remove(&shared.tables, numbers))
    }

    fn len(&self) -> u64 {
        self.shared.outbox.len()
    }
}
