//! Notices, in the batch of the change that they tell of.
//!
//! | key | value |
//! |---|---|
//! | due (milliseconds), number, big-endian | the notice |
//!
//! While a notice of a position waits, further beats of that content leave none that would be due no earlier. What waits is
//! kept in memory, and read from the table when the store is opened. Only the holder of the group writer changes it: a commit
//! that relies on a waiting notice is over before the notice is taken.

use std::collections::HashSet;
use std::sync::Arc;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, Readable, Slice};

use super::EmbeddedStore;
use super::codec::DecodeError;
use super::due_seconds::DueSeconds;
use super::read::Asker;
use super::tables::ReadError;
use model::change::Outcome;
use model::ids::{Content, UserId};
use model::notices::{Notice, Noticed, noticed};
use model::version::Version;
use storage::hot_store::{Answer, Group};
use storage::notices::{FollowedNow, Notices, Taken, UrgentRate, codec};
use storage::turn::Turn;

/// Where a user is in a content.
type Position = (UserId, Content);

const MEMTABLE_BYTES: u64 = 2 << 20;

/// Writes notices. Only the group writer has one.
pub struct Noticing {
    table: Keyspace,
    due: Arc<DueSeconds>,
    followed: Arc<FollowedNow>,
    /// Positions with a notice that was not taken yet: a steady one, and one that is due at once.
    steady: HashSet<Position>,
    urgent: HashSet<Position>,
    rate: UrgentRate,
    next: u64,
    version: Version,
}

/// Reads notices.
#[derive(Clone)]
pub struct NoticeTable {
    table: Keyspace,
    due: Arc<DueSeconds>,
    followed: Arc<FollowedNow>,
}

impl NoticeTable {
    pub fn open(database: &Database) -> fjall::Result<Self> {
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        Ok(NoticeTable { table: database.keyspace("notices", options)?, due: Arc::default(), followed: Arc::default() })
    }

    /// Reads all notices.
    pub fn noticing(&self) -> Result<Noticing, ReadError> {
        let (mut steady, mut urgent, mut next) = (HashSet::new(), HashSet::new(), 0);
        for entry in self.table.iter() {
            let (key, value) = entry.into_inner()?;
            next = next.max(number_of(&key)? + 1);
            self.due.add(due_of(&key)?);
            match position(&value)? {
                Some((codec::STEADY, position)) => steady.insert(position),
                Some((_, position)) => urgent.insert(position),
                None => false,
            };
        }
        let NoticeTable { table, due, followed } = self.clone();
        let rate = UrgentRate::default();
        Ok(Noticing { table, due, followed, steady, urgent, rate, next, version: Version::NONE })
    }

    fn due(&self, snapshot: &impl Readable, now: u64, limit: usize) -> Result<Vec<(Slice, Slice)>, ReadError> {
        let (first, end) = (self.due.first().unwrap_or(u64::MAX), now.saturating_add(1));
        let due = snapshot.range(&self.table, key(first.min(end), 0)..key(end, 0)).take(limit);
        Ok(due.map(|entry| entry.into_inner()).collect::<fjall::Result<_>>()?)
    }
}

impl Noticing {
    /// Puts the notices of a group into its batch, which must be committed next.
    pub fn put(&mut self, batch: &mut OwnedWriteBatch, group: &Group, outcomes: &[Outcome]) {
        let followed = self.followed.get();
        if !followed.any() {
            return;
        }
        for (change, outcome) in group.changes.iter().zip(outcomes) {
            let version = || {
                self.version = self.version.next().max(Version::first_of(group.now));
                self.version
            };
            let Some(mut noticed) = noticed(followed, change, outcome, version) else { continue };
            if !self.waits(&mut noticed, group.now) {
                let due = noticed.due(group.now);
                // If the batch fails, reads begin earlier than they could.
                self.due.add(due);
                batch.insert(&self.table, key(due, self.next), codec::encode(&noticed));
                self.next += 1;
            }
        }
    }

    /// Whether a notice of it waits already; otherwise it does from now on. Too many that are due at once become steady.
    fn waits(&mut self, noticed: &mut Noticed, now: u64) -> bool {
        if let Some(position) = noticed.urgent() {
            if self.urgent.contains(&position) {
                return true;
            }
            noticed.steady = !self.rate.allows(position.0, now);
        }
        match &noticed.notice {
            Notice::Position { user, content } if noticed.steady => !self.steady.insert((*user, *content)),
            Notice::Position { user, content } => !self.urgent.insert((*user, *content)),
            Notice::Forgotten(_) => false,
        }
    }

    /// From now on changes of these positions leave notices again.
    fn took(&mut self, positions: impl Iterator<Item = (u8, Position)>) {
        for (first, position) in positions {
            match first {
                codec::STEADY => self.steady.remove(&position),
                _ => self.urgent.remove(&position),
            };
        }
    }
}

impl Notices for EmbeddedStore {
    fn followed(&self) -> &FollowedNow {
        &self.notices.followed
    }

    fn turn(&self) -> Answer<Turn> {
        Box::pin(async { Ok(Turn::Mine) })
    }

    fn take(&self, now: u64, limit: usize) -> Answer<Vec<Taken>> {
        let (shared, notices) = (self.shared.clone(), self.notices.clone());
        let taken = self.readers.ask(Asker::Gateway, move |view| {
            let due = notices.due(&view.snapshot, now, limit)?;
            let positions = due.iter().map(|(_, value)| position(value)).collect::<Result<Vec<_>, _>>()?;
            let taken = |(key, value): &(Slice, Slice)| {
                let notice = codec::decode(value).map_err(|error| ReadError::Damaged(error.to_string()))?;
                Ok::<_, ReadError>(Taken { notice, key: Arc::from(&**key) })
            };
            Ok((due.iter().map(taken).collect::<Result<Vec<_>, _>>()?, positions))
        });
        Box::pin(async move {
            let (taken, positions) = taken.await?;
            if positions.iter().any(Option::is_some) {
                shared.write(|writer| {
                    writer.noticing.took(positions.into_iter().flatten());
                    Ok(())
                })?;
            }
            Ok(taken)
        })
    }

    fn remove(&self, taken: Vec<Taken>) -> Answer<()> {
        let (shared, NoticeTable { table, due, .. }) = (self.shared.clone(), self.notices.clone());
        self.readers.ask(Asker::Gateway, move |view| {
            let (mut batch, mut removed) = (shared.tables.batch(), Vec::with_capacity(taken.len()));
            for Taken { key, .. } in &taken {
                if view.snapshot.contains_key(&table, &**key)? {
                    batch.remove(&table, &**key);
                    removed.push(due_of(key)?);
                }
            }
            batch.commit()?;
            removed.into_iter().for_each(|at| due.remove(at));
            Ok(())
        })
    }
}

fn key(due: u64, number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&due.to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

fn due_of(key: &[u8]) -> Result<u64, DecodeError> {
    let due = key.first_chunk().copied().map(u64::from_be_bytes);
    due.ok_or_else(|| DecodeError::of("the key of a notice".to_owned()))
}

fn number_of(key: &[u8]) -> Result<u64, DecodeError> {
    let number = key.get(8..).and_then(|number| number.try_into().ok());
    number.map(u64::from_be_bytes).ok_or_else(|| DecodeError::of("the key of a notice".to_owned()))
}

/// The first byte and the position, unless it is a notice of a forgetting.
fn position(value: &[u8]) -> Result<Option<(u8, Position)>, ReadError> {
    match codec::decode(value).map_err(|error| ReadError::Damaged(error.to_string()))? {
        Notice::Position { user, content } => Ok(value.first().map(|first| (*first, (user, content)))),
        Notice::Forgotten(_) => Ok(None),
    }
}
