//! Direct counters, in the database of the records: one batch and one `fdatasync` for all requests that wait, with the
//! entries of the outbox.

mod draft;
mod tables;
mod top;

use std::sync::Arc;

use futures_util::FutureExt;

use self::draft::{DirectDraft, NoRoom};
use self::tables::DirectTables;
use self::top::TopScan;
use super::commit::GroupWriter;
use super::read::Asker;
use super::tables::ReadError;
use super::{EmbeddedStore, OpenError, Shared};
use crate::describe;
use crate::write_queue::{Answered, WriteQueue};
use model::counters::direct::{Added, DirectDefinitions};
use model::counters::{CounterId, CounterKey};
use storage::counters::{Addition, Answer, CounterReads, CountersError, DirectCounters};
use storage::hot_store::StoreError;

/// The thread that counts.
const THREAD: &str = "store-counters";

enum Request {
    Add(Addition, Answered<Result<Added, NoRoom>>),
    Reset(CounterId, CounterKey, Answered<()>),
}

/// The direct counters of an [`EmbeddedStore`].
pub struct EmbeddedDirect {
    // The thread ends before what it uses is closed.
    queue: WriteQueue<Request>,
    definitions: Arc<DirectDefinitions>,
    tables: DirectTables,
    store: Arc<EmbeddedStore>,
}

/// Writes requests, on the thread.
struct Writer {
    shared: Arc<Shared>,
    tables: DirectTables,
    outbox_max: u64,
}

impl EmbeddedDirect {
    /// `outbox_max`: entries with which the outbox is full.
    pub fn open(
        store: Arc<EmbeddedStore>,
        definitions: Arc<DirectDefinitions>,
        outbox_max: u64,
    ) -> Result<Self, OpenError> {
        let path = store.shared.dir.path().to_owned();
        let tables = DirectTables::open(&store.shared.tables.database);
        let tables = tables.map_err(|error| OpenError::of_tables(&path, error))?;
        let writer = Writer { shared: store.shared.clone(), tables: tables.clone(), outbox_max };
        let queue = WriteQueue::start(THREAD, "steps of counters", move |requests| writer.answer(requests));
        let queue = queue.map_err(|error| OpenError::unusable(&path, error))?;
        Ok(EmbeddedDirect { queue, definitions, tables, store })
    }
}

impl Writer {
    /// Answers the requests in order, after one commit.
    fn answer(&self, requests: Vec<Request>) {
        let changed = self.shared.write(|writer| writer.change_direct(&self.tables, self.outbox_max, &requests));
        match changed {
            Ok(added) => {
                let mut added = added.into_iter();
                for request in requests {
                    match request {
                        Request::Add(_, answered) => drop(added.next().map(|added| answered.send(Ok(added)))),
                        Request::Reset(_, _, answered) => drop(answered.send(Ok(()))),
                    }
                }
            }
            Err(error) => {
                for request in requests {
                    match request {
                        Request::Add(_, answered) => drop(answered.send(Err(error.clone()))),
                        Request::Reset(_, _, answered) => drop(answered.send(Err(error.clone()))),
                    }
                }
            }
        }
    }
}

impl GroupWriter {
    /// Returns the result of each addition, in order.
    fn change_direct(
        &mut self,
        direct: &DirectTables,
        outbox_max: u64,
        requests: &[Request],
    ) -> Result<Vec<Result<Added, NoRoom>>, StoreError> {
        self.require_writable()?;
        let tables = self.tables.clone();
        let view = tables.view();
        let room = outbox_max.saturating_sub(self.outbox.len());
        let mut draft = DirectDraft::new(direct, &view.snapshot, room);
        let added = apply(&mut draft, requests).map_err(|error| self.unread(error))?;
        if !draft.is_empty() {
            let batch = draft.batch(&tables, self.outbox.next()).map_err(|error| self.fail(describe(&error)))?;
            // Before they can be read: what is read may be removed at once.
            self.outbox.added(draft.entries());
            batch.commit().map_err(|error| self.fail(describe(&error)))?;
        }
        Ok(added)
    }
}

fn apply(draft: &mut DirectDraft, requests: &[Request]) -> Result<Vec<Result<Added, NoRoom>>, ReadError> {
    let mut all = Vec::with_capacity(requests.len());
    for request in requests {
        match request {
            Request::Add(addition, _) => all.push(draft.add(addition)?),
            Request::Reset(counter, key, _) => draft.reset(counter, key)?,
        }
    }
    Ok(all)
}

impl CounterReads for EmbeddedDirect {
    fn values(&self, id: CounterId, keys: Vec<CounterKey>) -> Answer<Vec<i64>> {
        let initial = self.definitions.of(&id).map_or(0, |counter| counter.initial);
        let tables = self.tables.clone();
        let values = self.store.readers.ask(Asker::Gateway, move |view| {
            let value = |key| Ok(tables.state(&view.snapshot, &id, key)?.value.unwrap_or(initial));
            keys.iter().map(value).collect()
        });
        Box::pin(values.map(|values| Ok(values?)))
    }

    fn top(&self, id: CounterId, prefix: CounterKey, limit: usize) -> Answer<Vec<(CounterKey, i64)>> {
        let mut scan = TopScan::new(self.tables.clone(), id, prefix, limit);
        let top = self.store.readers.ask_in_slices(Asker::Gateway, move |tables| scan.read_slice(tables));
        Box::pin(top.map(|top| Ok(top?)))
    }
}

impl DirectCounters for EmbeddedDirect {
    fn add(&self, addition: Addition) -> Answer<Added> {
        let added = self.queue.ask(|answer| Request::Add(addition, answer));
        Box::pin(added.map(|added: Result<_, CountersError>| added?.map_err(|NoRoom| CountersError::OutboxFull)))
    }

    fn reset(&self, id: CounterId, key: CounterKey) -> Answer<()> {
        self.queue.ask(|answer| Request::Reset(id, key, answer))
    }
}
