//! The tables of the direct counters, and typed reads of them.
//!
//! | table | key | value |
//! |---|---|---|
//! | `direct` | counter, 0, key as it is encoded | the value, and how often each threshold was crossed |
//! | `direct-requests-…`, one for each day of UTC | counter, 0, id of the request | the request and its answer |
//!
//! Values are protobuf messages.

use std::collections::BTreeMap;
use std::ops::Bound;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, Readable, Snapshot};
use prost::Message;

use crate::hot_store::codec::DecodeError;
use crate::hot_store::day_tables::DayTables;
use crate::hot_store::tables::ReadError;
use model::counters::direct::DirectState;
use model::counters::{CounterId, CounterKey};
use model::rewards::day::Day;
use storage::counters::REMEMBERED;

/// Today and yesterday: all that is remembered is there.
const REQUEST_DAYS: u16 = 2;
const DAY_MS: u64 = 86_400_000;
const MEMTABLE_BYTES: u64 = 8 << 20;
const SEPARATOR: u8 = 0;

#[derive(Clone)]
pub struct DirectTables {
    states: Keyspace,
    requests: DayTables,
}

/// A request that was done, and its answer.
#[derive(Clone, PartialEq, Message)]
pub struct DoneRequest {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(sint64, tag = "2")]
    pub by: i64,
    #[prost(sint64, tag = "3")]
    pub value: i64,
    /// The server's clock, milliseconds.
    #[prost(uint64, tag = "4")]
    pub at: u64,
}

#[derive(Clone, PartialEq, Message)]
struct StoredState {
    #[prost(sint64, optional, tag = "1")]
    value: Option<i64>,
    #[prost(btree_map = "sint64, uint64", tag = "2")]
    crossings: BTreeMap<i64, u64>,
}

impl DirectTables {
    pub fn open(database: &Database) -> fjall::Result<Self> {
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        Ok(DirectTables {
            states: database.keyspace("direct", options)?,
            requests: DayTables::open(database, "direct-requests-", REQUEST_DAYS)?,
        })
    }

    /// There is no entry for a key of which nothing is known.
    pub fn put(&self, batch: &mut OwnedWriteBatch, counter: &CounterId, key: &CounterKey, state: &DirectState) {
        let row_key = row_key(counter, key.encoded());
        if *state == DirectState::default() {
            return batch.remove(&self.states, row_key);
        }
        let stored = StoredState { value: state.value, crossings: state.crossings.clone() };
        batch.insert(&self.states, row_key, stored.encode_to_vec());
    }

    /// Makes the table of its day if there is none; the oldest goes then.
    pub fn put_request(
        &self,
        batch: &mut OwnedWriteBatch,
        counter: &CounterId,
        id: &str,
        request: &DoneRequest,
    ) -> fjall::Result<()> {
        let table = self.requests.of_or_new(day(request.at))?;
        batch.insert(&table, row_key(counter, id), request.encode_to_vec());
        Ok(())
    }

    pub fn state(&self, snapshot: &Snapshot, counter: &CounterId, key: &CounterKey) -> Result<DirectState, ReadError> {
        let bytes = snapshot.get(&self.states, row_key(counter, key.encoded()))?;
        Ok(bytes.map(|bytes| parse_state(&bytes)).transpose()?.unwrap_or_default())
    }

    /// The request of this id that is still remembered at `now`.
    pub fn request(
        &self,
        snapshot: &Snapshot,
        counter: &CounterId,
        id: &str,
        now: u64,
    ) -> Result<Option<DoneRequest>, ReadError> {
        for table in day(now).around().into_iter().filter_map(|day| self.requests.of(day)) {
            let Some(bytes) = snapshot.get(&table, row_key(counter, id))? else { continue };
            let request = DoneRequest::decode(&*bytes).map_err(|error| DecodeError::of(error.to_string()))?;
            if is_remembered(&request, now) {
                return Ok(Some(request));
            }
        }
        Ok(None)
    }

    /// Keys that begin with the parts of `prefix`, in their order, each with what is kept of it; those after `after`.
    pub fn states_of(
        &self,
        snapshot: &Snapshot,
        counter: &CounterId,
        prefix: &CounterKey,
        after: Option<&CounterKey>,
    ) -> impl Iterator<Item = Result<(CounterKey, DirectState), ReadError>> + use<> {
        let first = Bound::Included(row_key(counter, prefix.encoded()));
        let from = after.map_or(first, |after| Bound::Excluded(row_key(counter, after.encoded())));
        let skipped = counter.as_str().len() + 1;
        snapshot.range(&self.states, (from, Bound::Excluded(end(counter, prefix)))).map(move |entry| {
            let (row_key, bytes) = entry.into_inner()?;
            let key = row_key.get(skipped..).and_then(|key| std::str::from_utf8(key).ok());
            let key = key.ok_or_else(|| DecodeError::of("the key of a counter".to_owned()))?;
            Ok((CounterKey::of_encoded(key), parse_state(&bytes)?))
        })
    }
}

/// Whether it is remembered at `now`.
pub fn is_remembered(request: &DoneRequest, now: u64) -> bool {
    now.saturating_sub(request.at) < REMEMBERED.as_millis() as u64
}

fn parse_state(bytes: &[u8]) -> Result<DirectState, DecodeError> {
    let stored = StoredState::decode(bytes).map_err(|error| DecodeError::of(error.to_string()))?;
    Ok(DirectState { value: stored.value, crossings: stored.crossings })
}

fn row_key(counter: &CounterId, rest: &str) -> Vec<u8> {
    [counter.as_str().as_bytes(), &[SEPARATOR], rest.as_bytes()].concat()
}

/// After all keys that begin with the parts of `prefix`, and before all others that are after it.
fn end(counter: &CounterId, prefix: &CounterKey) -> Vec<u8> {
    let mut end = row_key(counter, &prefix.encoded_prefix());
    // The last byte is a separator, of keys or of counters.
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

fn day(at: u64) -> Day {
    Day::of_number(u16::try_from(at / DAY_MS).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parts: &[&str]) -> CounterKey {
        CounterKey::of(parts.iter().copied()).expect("a key")
    }

    #[test]
    fn the_range_of_a_prefix_has_its_keys_and_no_others() {
        let counter: CounterId = "likes".parse().expect("an id");
        let within = |prefix: &[&str], of: &CounterKey| {
            let prefix = key(prefix);
            let (first, row_key) = (row_key(&counter, prefix.encoded()), row_key(&counter, of.encoded()));
            first <= row_key && row_key < end(&counter, &prefix)
        };
        for of in [key(&["1"]), key(&["1", "100"]), key(&["1", "~"]), key(&["1", "!", "x"])] {
            assert!(within(&["1"], &of) && within(&[], &of), "{of}");
        }
        for of in [key(&["10"]), key(&["1-", "100"]), key(&["1%"]), key(&["1.5"]), key(&["0"]), key(&["2"])] {
            assert!(!within(&["1"], &of) && within(&[], &of), "{of}");
        }
        let other: CounterId = "likes.x".parse().expect("an id");
        assert!(row_key(&other, "") > end(&counter, &key(&[])));
    }

    #[test]
    fn a_day_is_one_of_utc() {
        assert_eq!(day(DAY_MS - 1), Day::of_number(0));
        assert_eq!(day(DAY_MS), Day::of_number(1));
        assert_eq!(day(u64::MAX), Day::of_number(u16::MAX));
    }
}
