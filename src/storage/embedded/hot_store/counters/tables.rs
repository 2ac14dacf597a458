//! The tables of the derived counters, and typed reads of them.
//!
//! | table | key | value |
//! |---|---|---|
//! | `counters` | generation (4 bytes), id, 0, key | the number (8 bytes); missing = 0 |
//! | `counter-jobs` | job | a recount and when it began, as JSON |
//! | `meta` | `counters` | the generation that is read: its number and definitions, as JSON |
//!
//! Numbers are big-endian.

use std::ops::Bound;

use fjall::{Database, Guard, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, Readable, Snapshot};

use crate::hot_store::codec::DecodeError;
use crate::hot_store::tables::ReadError;
use model::counters::{CounterId, CounterKey, Definitions, Deltas, Generation};

const MEMTABLE_BYTES: u64 = 8 << 20;
const GENERATION: &str = "counters";

#[derive(Clone)]
pub struct CounterTables {
    numbers: Keyspace,
    pub jobs: Keyspace,
    meta: Keyspace,
}

impl CounterTables {
    pub fn open(database: &Database, meta: Keyspace) -> fjall::Result<Self> {
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        Ok(CounterTables {
            numbers: database.keyspace("counters", options)?,
            jobs: database.keyspace("counter-jobs", options)?,
            meta,
        })
    }

    /// The generation that is read; `None`: nothing was ever counted.
    pub fn generation(&self, snapshot: &Snapshot) -> Result<Option<Generation>, ReadError> {
        let bytes = snapshot.get(&self.meta, GENERATION)?;
        let parse = |bytes: fjall::Slice| serde_json::from_slice(&bytes);
        bytes.map(parse).transpose().map_err(|_| DecodeError::of("a generation of counters".to_owned()).into())
    }

    /// The number of the generation that is read, if it counts the counter as it is wanted.
    pub fn counted(
        &self,
        snapshot: &Snapshot,
        wanted: Option<&Definitions>,
        id: &CounterId,
    ) -> Result<Option<u32>, ReadError> {
        let generation = self.generation(snapshot)?;
        let fits = |generation: &Generation| wanted.is_some_and(|wanted| wanted.counts_as(id, &generation.definitions));
        Ok(generation.filter(fits).map(|generation| generation.number))
    }

    pub fn put_generation(&self, batch: &mut OwnedWriteBatch, generation: &Generation) {
        let json = serde_json::to_vec(generation).expect("definitions are JSON");
        batch.insert(&self.meta, GENERATION, json);
    }

    pub fn number(
        &self,
        snapshot: &Snapshot,
        generation: u32,
        id: &CounterId,
        key: &CounterKey,
    ) -> Result<i64, ReadError> {
        let bytes = snapshot.get(&self.numbers, number_key(generation, id, key))?;
        Ok(bytes.map(|bytes| parse_number(&bytes)).transpose()?.unwrap_or(0))
    }

    /// Adds to the numbers of a generation, as they are in the snapshot.
    pub fn add(
        &self,
        batch: &mut OwnedWriteBatch,
        snapshot: &Snapshot,
        generation: u32,
        deltas: &Deltas,
    ) -> Result<(), ReadError> {
        for (id, key, by) in deltas.iter() {
            match self.number(snapshot, generation, id, key)?.wrapping_add(by) {
                0 => batch.remove(&self.numbers, number_key(generation, id, key)),
                number => {
                    batch.insert(&self.numbers, number_key(generation, id, key), number.to_be_bytes());
                }
            }
        }
        Ok(())
    }

    /// All numbers of a counter, in the order of their keys.
    pub fn numbers_of<'s>(
        &self,
        snapshot: &'s Snapshot,
        generation: u32,
        id: &CounterId,
    ) -> impl Iterator<Item = Result<(CounterKey, i64), ReadError>> + use<'s> {
        self.numbers_behind(snapshot, generation, id, &CounterKey::default(), None)
    }

    /// The numbers of a counter after `after`, of keys that begin with the parts of `prefix`, in the order of the keys.
    pub fn numbers_behind<'s>(
        &self,
        snapshot: &'s Snapshot,
        generation: u32,
        id: &CounterId,
        prefix: &CounterKey,
        after: Option<&CounterKey>,
    ) -> impl Iterator<Item = Result<(CounterKey, i64), ReadError>> + use<'s> {
        let from = match after {
            Some(after) => Bound::Excluded(number_key(generation, id, after)),
            None => Bound::Included(number_key(generation, id, prefix)),
        };
        let (skipped, prefix) = (counter_prefix(generation, id), prefix.clone());
        let of_counter = snapshot.range(&self.numbers, (from, Bound::Unbounded)).map(move |entry: Guard| {
            let (key, value) = entry.into_inner()?;
            let Some(text) = key.strip_prefix(&skipped[..]) else { return Ok(None) };
            let text = std::str::from_utf8(text).map_err(|_| DecodeError::of("the key of a counter".to_owned()))?;
            Ok(Some((CounterKey::of_encoded(text), parse_number(&value)?)))
        });
        let begins = move |key: &CounterKey| key.begins_with(&prefix);
        of_counter.map_while(move |found: Result<Option<(CounterKey, i64)>, ReadError>| match found {
            Ok(Some((key, _))) if !begins(&key) => None,
            found => found.transpose(),
        })
    }

    /// Removes at most `limit` numbers of generations that are not `kept`. False: there are none.
    pub fn remove_others(
        &self,
        batch: &mut OwnedWriteBatch,
        snapshot: &Snapshot,
        kept: Option<u32>,
        limit: usize,
    ) -> Result<bool, ReadError> {
        let before = snapshot.range(&self.numbers, ..kept.unwrap_or(0).to_be_bytes());
        let after = kept
            .map_or(Some(0), |kept| kept.checked_add(1))
            .map(|next| snapshot.range(&self.numbers, next.to_be_bytes()..));
        let mut removed = false;
        for entry in before.chain(after.into_iter().flatten()).take(limit) {
            batch.remove(&self.numbers, entry.key()?);
            removed = true;
        }
        Ok(removed)
    }
}

fn counter_prefix(generation: u32, id: &CounterId) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend_from_slice(&generation.to_be_bytes());
    bytes.extend_from_slice(id.as_str().as_bytes());
    bytes.push(0);
    bytes
}

fn number_key(generation: u32, id: &CounterId, key: &CounterKey) -> Vec<u8> {
    let mut bytes = counter_prefix(generation, id);
    bytes.extend_from_slice(key.encoded().as_bytes());
    bytes
}

fn parse_number(bytes: &[u8]) -> Result<i64, DecodeError> {
    bytes.try_into().map(i64::from_be_bytes).map_err(|_| DecodeError::of("a number of a counter".to_owned()))
}
