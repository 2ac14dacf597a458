//! The count of all records.
//!
//! Each step counts the records of some users under the lock of the writer, so that commits know who is counted. When
//! all are, the numbers of both generations are of the same records, and every snapshot of them can be compared.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use fjall::Snapshot;

use crate::describe;
use crate::hot_store::Shared;
use crate::hot_store::commit::GroupWriter;
use crate::hot_store::counters::{CounterTables, Next};
use crate::hot_store::tables::{ReadError, View};
use model::counters::{CounterId, CounterKey, Definitions, Deltas, Difference, Generation};
use model::ids::{Content, UserId};
use storage::hot_store::StoreError;

/// Records in one step, but for the rest of the last user.
const STEP_RECORDS: u64 = 512;
/// Numbers that are removed in one batch.
const REMOVED_AT_A_TIME: usize = 4_096;
/// Commits have their turn.
const PAUSE: Duration = Duration::from_millis(2);

pub struct Walk<'a> {
    shared: &'a Shared,
    stop: &'a AtomicBool,
}

/// Why a walk has ended early.
#[derive(Debug)]
pub enum Ended {
    Stopped,
    Store(StoreError),
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Self {
        Ended::Store(error)
    }
}

impl<'a> Walk<'a> {
    pub fn new(shared: &'a Shared, stop: &'a AtomicBool) -> Self {
        Walk { shared, stop }
    }

    /// Counts all records by these definitions, in a generation of their own. `counted` is told the number of records
    /// of each step.
    pub fn count(&self, definitions: Definitions, mut counted: impl FnMut(u64)) -> Result<(), Ended> {
        self.begin(definitions)?;
        while let Some(records) = self.step()? {
            counted(records);
            self.pause()?;
        }
        Ok(())
    }

    /// Tells the numbers that differ in the two generations.
    pub fn compare(&self, mut differs: impl FnMut(&CounterId, Difference)) -> Result<(), Ended> {
        let (tables, current, next, snapshot) = {
            let writer = self.shared.group_writer()?;
            let counting = &writer.counting;
            let (Some(current), Some(Next { generation, .. })) = (&counting.current, &counting.next) else {
                return Ok(());
            };
            let snapshot = self.shared.tables.view().into_snapshot();
            (counting.tables.clone(), current.clone(), generation.clone(), snapshot)
        };
        for definition in &next.definitions.counters {
            let id = &definition.id;
            if next.definitions.counts_as(id, &current.definitions) {
                let pair = [current.number, next.number];
                let compared = differences(&tables, &snapshot, id, pair, |difference| differs(id, difference));
                compared.map_err(unread)?;
            }
        }
        Ok(())
    }

    /// From now on the generation that was counted is read.
    pub fn swap(&self) -> Result<(), Ended> {
        {
            let mut writer = self.shared.group_writer()?;
            writer.require_writable()?;
            let Some(Next { generation, .. }) = writer.counting.next.take() else { return Ok(()) };
            let mut batch = writer.tables.durable_batch(1);
            writer.counting.tables.put_generation(&mut batch, &generation);
            batch.commit().map_err(|error| writer.fail(describe(&error)))?;
            writer.counting.current = Some(generation);
        }
        self.remove_others()
    }

    /// Gives the generation up that is being counted.
    pub fn give_up(&self) -> Result<(), Ended> {
        self.shared.group_writer()?.counting.next = None;
        self.remove_others()
    }

    /// Removes all numbers of generations that nothing is added to.
    pub fn remove_others(&self) -> Result<(), Ended> {
        loop {
            {
                let mut writer = self.shared.group_writer()?;
                writer.require_writable()?;
                let view = self.shared.tables.view();
                let mut batch = self.shared.tables.batch();
                let kept = writer.counting.current.as_ref().map(|current| current.number);
                let tables = writer.counting.tables.clone();
                let removed = tables.remove_others(&mut batch, &view.snapshot, kept, REMOVED_AT_A_TIME);
                if !removed.map_err(|error| writer.unread(error))? {
                    return Ok(());
                }
                batch.commit().map_err(|error| writer.fail(describe(&error)))?;
            }
            self.pause()?;
        }
    }

    fn begin(&self, definitions: Definitions) -> Result<(), Ended> {
        let mut writer = self.shared.group_writer()?;
        writer.require_writable()?;
        // Leftovers of an earlier walk under this number have been removed.
        let number = writer.counting.current.as_ref().map_or(1, |current| current.number + 1);
        let generation = Arc::new(Generation { number, definitions });
        writer.counting.next = Some(Next { generation, from: Some(UserId(0)) });
        Ok(())
    }

    /// Counts some records. `None`: there are no more.
    fn step(&self) -> Result<Option<u64>, Ended> {
        let mut writer = self.shared.group_writer()?;
        writer.require_writable()?;
        let Some(Next { generation, from: Some(from) }) = &writer.counting.next else { return Ok(None) };
        let (generation, from) = (generation.clone(), *from);
        let step = self.count_from(&writer, &generation, from);
        let (records, batch, next) = step.map_err(|error| writer.unread(error))?;
        batch.commit().map_err(|error| writer.fail(describe(&error)))?;
        writer.counting.next = Some(Next { generation, from: next });
        Ok(Some(records))
    }

    fn count_from(
        &self,
        writer: &GroupWriter,
        generation: &Generation,
        from: UserId,
    ) -> Result<(u64, fjall::OwnedWriteBatch, Option<UserId>), ReadError> {
        let view = self.shared.tables.view();
        let (deltas, records, next) = count_users(&view, &generation.definitions, from)?;
        // It need not be on disk: after a restart all is counted anew.
        let mut batch = self.shared.tables.batch();
        writer.counting.tables.add(&mut batch, &view.snapshot, generation.number, &deltas)?;
        Ok((records, batch, next))
    }

    fn pause(&self) -> Result<(), Ended> {
        thread::sleep(PAUSE);
        if self.stop.load(std::sync::atomic::Ordering::Relaxed) { Err(Ended::Stopped) } else { Ok(()) }
    }
}

/// The records of whole users from this one on, and the user to go on with.
fn count_users(
    view: &View,
    definitions: &Definitions,
    from: UserId,
) -> Result<(Deltas, u64, Option<UserId>), ReadError> {
    let (mut deltas, mut records, mut last) = (Deltas::default(), 0, from);
    for stored in view.contents_from(from, Content::FIRST) {
        let (user, _, row) = stored?;
        if user != last && records >= STEP_RECORDS {
            return Ok((deltas, records, Some(user)));
        }
        if let Some(record) = &row.record {
            definitions.count(user, record, &mut deltas);
        }
        records += 1;
        last = user;
    }
    Ok((deltas, records, None))
}

fn differences(
    tables: &CounterTables,
    snapshot: &Snapshot,
    id: &CounterId,
    [current, next]: [u32; 2],
    mut differs: impl FnMut(Difference),
) -> Result<(), ReadError> {
    let mut was = tables.numbers_of(snapshot, current, id).peekable();
    let mut is = tables.numbers_of(snapshot, next, id).peekable();
    while let Some(order) = order(&mut was, &mut is) {
        let was = (order != Ordering::Greater).then(|| was.next()).flatten().transpose()?;
        let is = (order != Ordering::Less).then(|| is.next()).flatten().transpose()?;
        let key = was.as_ref().or(is.as_ref()).map(|(key, _)| key.clone()).unwrap_or_default();
        let number = |found: Option<(CounterKey, i64)>| found.map_or(0, |(_, number)| number);
        let (was, is) = (number(was), number(is));
        if was != is {
            differs(Difference { key, was, is });
        }
    }
    Ok(())
}

type Number = Result<(CounterKey, i64), ReadError>;

/// Which of two sorted lists has the next key. `None`: both are at their end.
fn order(
    one: &mut Peekable<impl Iterator<Item = Number>>,
    other: &mut Peekable<impl Iterator<Item = Number>>,
) -> Option<Ordering> {
    Some(match (one.peek(), other.peek()) {
        (None, None) => return None,
        (Some(Err(_)), _) | (Some(_), None) => Ordering::Less,
        (_, Some(Err(_))) | (None, Some(_)) => Ordering::Greater,
        (Some(Ok((one, _))), Some(Ok((other, _)))) => one.cmp(other),
    })
}

fn unread(error: ReadError) -> StoreError {
    StoreError::Away(error.to_string())
}
