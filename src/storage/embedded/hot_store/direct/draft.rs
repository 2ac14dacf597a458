//! The changes of direct counters in one batch. Each key is read once.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use fjall::{OwnedWriteBatch, Snapshot};

use super::tables::{DirectTables, DoneRequest, is_remembered};
use crate::hot_store::codec;
use crate::hot_store::tables::{ReadError, Tables};
use model::counters::crossing::Crossing;
use model::counters::direct::{Added, DirectState, PassesBound};
use model::counters::{CounterId, CounterKey};
use model::outbox_entry::OutboxEntry;
use storage::counters::Addition;
use storage::outbox::OutboxNumber;

pub struct DirectDraft<'a> {
    tables: &'a DirectTables,
    snapshot: &'a Snapshot,
    states: BTreeMap<(CounterId, CounterKey), Drafted>,
    requests: BTreeMap<(CounterId, Arc<str>), DoneRequest>,
    crossings: Vec<Crossing>,
    /// Entries that the outbox takes yet.
    room: u64,
}

struct Drafted {
    state: DirectState,
    changed: bool,
}

/// The outbox has no room for the events of a step.
pub struct NoRoom;

impl<'a> DirectDraft<'a> {
    pub fn new(tables: &'a DirectTables, snapshot: &'a Snapshot, room: u64) -> Self {
        let (states, requests) = (BTreeMap::new(), BTreeMap::new());
        DirectDraft { tables, snapshot, states, requests, crossings: Vec::new(), room }
    }

    pub fn add(&mut self, addition: &Addition) -> Result<Result<Added, NoRoom>, ReadError> {
        let Addition { counter, key, by, id, now } = addition;
        if let Some(id) = id
            && let Some(done) = self.request(&counter.id, id, *now)?
        {
            let same = done.key == key.encoded() && done.by == *by;
            return Ok(Ok(if same { Added::Repeated { value: done.value } } else { Added::IdReused }));
        }
        let drafted = self.drafted(&counter.id, key)?;
        let step = match counter.step(&drafted.state, *by) {
            Ok(step) => step,
            Err(PassesBound { value }) => return Ok(Ok(Added::PassesBound { value })),
        };
        let crossed = step.crossed.len();
        // A step that crosses nothing needs no room.
        if crossed as u64 > self.room.saturating_sub(self.crossings.len() as u64) {
            return Ok(Err(NoRoom));
        }
        let value = step.value;
        *self.drafted(&counter.id, key)? = Drafted { state: step.state, changed: true };
        self.crossings.extend(step.crossed.into_iter().map(|(threshold, n)| Crossing {
            counter: counter.id.clone(),
            key: key.clone(),
            value,
            threshold,
            n,
            at: *now,
        }));
        if let Some(id) = id {
            let done = DoneRequest { key: key.encoded().to_owned(), by: *by, value, at: *now };
            self.requests.insert((counter.id.clone(), id.clone()), done);
        }
        Ok(Ok(Added::Done { value, crossed }))
    }

    pub fn reset(&mut self, counter: &CounterId, key: &CounterKey) -> Result<(), ReadError> {
        let drafted = self.drafted(counter, key)?;
        drafted.changed |= drafted.state.value.take().is_some();
        Ok(())
    }

    /// How many entries of the outbox it makes.
    pub fn entries(&self) -> u64 {
        self.crossings.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        !self.states.values().any(|drafted| drafted.changed)
    }

    /// The first crossing enters the outbox with the number `next`.
    pub fn batch(&self, tables: &Tables, next: OutboxNumber) -> fjall::Result<OwnedWriteBatch> {
        let mut batch = tables.durable_batch(self.states.len() + self.requests.len() + self.crossings.len());
        for ((counter, key), drafted) in self.states.iter().filter(|(_, drafted)| drafted.changed) {
            self.tables.put(&mut batch, counter, key, &drafted.state);
        }
        for ((counter, id), done) in &self.requests {
            self.tables.put_request(&mut batch, counter, id, done)?;
        }
        for (crossing, number) in self.crossings.iter().zip(next..) {
            let entry = codec::outbox_entry(&OutboxEntry::Crossing(crossing.clone()));
            batch.insert(&tables.outbox, number.to_be_bytes(), entry);
        }
        Ok(batch)
    }

    fn request(&self, counter: &CounterId, id: &Arc<str>, now: u64) -> Result<Option<DoneRequest>, ReadError> {
        match self.requests.get(&(counter.clone(), id.clone())) {
            Some(drafted) if is_remembered(drafted, now) => Ok(Some(drafted.clone())),
            _ => self.tables.request(self.snapshot, counter, id, now),
        }
    }

    fn drafted(&mut self, counter: &CounterId, key: &CounterKey) -> Result<&mut Drafted, ReadError> {
        match self.states.entry((counter.clone(), key.clone())) {
            Entry::Occupied(drafted) => Ok(drafted.into_mut()),
            Entry::Vacant(slot) => {
                let state = self.tables.state(self.snapshot, counter, key)?;
                Ok(slot.insert(Drafted { state, changed: false }))
            }
        }
    }
}
