//! The outbox: claims in the order in which they were made.
//!
//! | key | value |
//! |---|---|
//! | number, big-endian | the claim, a protobuf message |
//!
//! Numbers follow each other without gaps, so that what is to be removed need not be read.

use std::sync::atomic::{AtomicU64, Ordering};

use super::EmbeddedStore;
use super::codec;
use super::tables::{ReadError, Tables};
use crate::model::rewards::claim::Claim;
use crate::storage::hot_store::Answer;
use crate::storage::outbox::{Outbox, OutboxNumber};

/// Where the outbox begins and where it ends. Only committers move its end, only removals its beginning.
#[derive(Debug)]
pub struct Ends {
    /// The oldest that is there, or the next one if there is none.
    first: AtomicU64,
    next: AtomicU64,
}

impl Ends {
    pub fn read(tables: &Tables) -> Result<Self, ReadError> {
        let number = |guard: Option<fjall::Guard>| {
            guard.map(|guard| Ok::<_, ReadError>(codec::parse_number(&guard.key()?)?)).transpose()
        };
        let first = number(tables.outbox.first_key_value())?;
        let last = number(tables.outbox.last_key_value())?;
        let next = last.map_or(1, |last| last + 1);
        Ok(Ends { first: AtomicU64::new(first.unwrap_or(next)), next: AtomicU64::new(next) })
    }

    pub fn next(&self) -> OutboxNumber {
        self.next.load(Ordering::Relaxed)
    }

    /// So many were added.
    pub fn added(&self, count: u64) {
        self.next.fetch_add(count, Ordering::Relaxed);
    }

    fn len(&self) -> u64 {
        self.next().saturating_sub(self.first.load(Ordering::Relaxed))
    }
}

impl Outbox for EmbeddedStore {
    fn read(&self, after: OutboxNumber, limit: usize) -> Answer<Vec<(OutboxNumber, Claim)>> {
        self.readers.ask(move |view| view.outbox(after, limit))
    }

    fn remove(&self, up_to: OutboxNumber) -> Answer<()> {
        let shared = self.shared.clone();
        self.readers.ask(move |_| {
            let first = shared.outbox.first.load(Ordering::Relaxed);
            let end = up_to.saturating_add(1).min(shared.outbox.next());
            let mut batch = shared.tables.batch();
            for number in first..end {
                batch.remove(&shared.tables.outbox, number.to_be_bytes());
            }
            batch.commit()?;
            shared.outbox.first.fetch_max(end, Ordering::Relaxed);
            Ok(())
        })
    }

    fn len(&self) -> u64 {
        self.shared.outbox.len()
    }
}
