//! The texts of contents, in the database of the records: one batch and one `fdatasync` for all texts that wait.
//!
//! Each write also looks at some older texts, and removes those that were not kept again for too long.

mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use self::tables::{ContentNameTable, KeptText};
use super::commit::GroupWriter;
use super::read::Asker;
use super::{EmbeddedStore, OpenError, Shared};
use crate::describe;
use crate::write_queue::{Answered, WriteQueue};
use model::content_name::ContentName;
use storage::Clock;
use storage::content_names::{ContentNames, KEPT_LONGER};
use storage::hot_store::StoreError;
use storage::store_error::Answer;

/// The thread that writes them.
const THREAD: &str = "store-contents";
/// Older texts that a write looks at.
const SWEPT: usize = 1_000;
const DAY_MS: u64 = 24 * 3600 * 1000;

struct Request {
    names: Vec<ContentName>,
    answered: Answered<Vec<ContentName>>,
}

/// The texts of the contents of an [`EmbeddedStore`].
pub struct EmbeddedContentNames {
    // The thread ends before what it uses is closed.
    queue: WriteQueue<Request>,
    table: ContentNameTable,
    store: Arc<EmbeddedStore>,
}

/// The state of the writing thread.
struct Keeper {
    shared: Arc<Shared>,
    table: ContentNameTable,
    wall_clock: Clock,
    /// The number up to which older texts were looked at.
    swept: u64,
}

impl EmbeddedStore {
    /// Whether the contents of this store are named by texts. `None`: nothing was committed yet, so that is still open.
    pub fn has_content_names(&self) -> Result<Option<bool>, OpenError> {
        let tables = &self.shared.tables;
        let has_names =
            ContentNameTable::is_kept(tables).map_err(|error| OpenError::of_tables(self.shared.dir.path(), error))?;
        Ok((has_names || self.calendar.is_some()).then_some(has_names))
    }
}

impl EmbeddedContentNames {
    /// `wall_clock`: milliseconds since 1970.
    pub fn open(store: Arc<EmbeddedStore>, wall_clock: Clock) -> Result<Self, OpenError> {
        let shared = store.shared.clone();
        let path = shared.dir.path().to_owned();
        let table = ContentNameTable::open(&shared.tables).map_err(|error| OpenError::of_tables(&path, error))?;
        let mut keeper = Keeper { shared, table: table.clone(), wall_clock, swept: 0 };
        let queue = WriteQueue::start(THREAD, "texts of contents", move |requests| keeper.answer(requests));
        let queue = queue.map_err(|error| OpenError::unusable(&path, error))?;
        Ok(EmbeddedContentNames { queue, table, store })
    }
}

impl ContentNames for EmbeddedContentNames {
    fn keep(&self, names: Vec<ContentName>) -> Answer<Vec<ContentName>> {
        self.queue.ask(|answered| Request { names, answered })
    }

    fn texts(&self, oids: Vec<u64>) -> Answer<Vec<Option<ContentName>>> {
        let table = self.table.clone();
        self.store.readers.ask(Asker::Gateway, move |view| {
            oids.iter().map(|oid| Ok(table.get(&view.snapshot, *oid)?.map(|kept| kept.name))).collect()
        })
    }
}

impl Keeper {
    /// Answers the requests after one commit.
    fn answer(&mut self, requests: Vec<Request>) {
        let shared = self.shared.clone();
        let asked = requests.iter().flat_map(|request| &request.names);
        let kept = shared.write(|writer| self.keep(writer, asked));
        for Request { names, answered } in requests {
            let answer = match &kept {
                Ok(kept) => Ok(names.iter().map(|name| kept[&name.oid()].name.clone()).collect()),
                Err(error) => Err(error.clone()),
            };
            drop(answered.send(answer));
        }
    }

    /// Returns the texts that have the numbers of those given.
    fn keep<'a>(
        &mut self,
        writer: &mut GroupWriter,
        names: impl Iterator<Item = &'a ContentName>,
    ) -> Result<BTreeMap<u64, KeptText>, StoreError> {
        writer.require_writable()?;
        let tables = writer.tables.clone();
        let view = tables.view();
        let (today, expired) = self.days();
        let mut batch = tables.durable_batch(SWEPT);
        let mut kept = BTreeMap::new();
        for name in names {
            let oid = name.oid();
            if kept.contains_key(&oid) {
                continue;
            }
            let stored = self.table.get(&view.snapshot, oid).map_err(|error| writer.unread(error))?;
            let text = match &stored {
                Some(stored) if stored.day >= expired => {
                    KeptText { day: stored.day.max(today), name: stored.name.clone() }
                }
                _ => KeptText { day: today, name: name.clone() },
            };
            if stored.as_ref() != Some(&text) {
                self.table.put(&mut batch, oid, &text);
            }
            kept.insert(oid, text);
        }
        let old = self.table.from(&view.snapshot, self.swept, SWEPT).map_err(|error| writer.unread(error))?;
        for (oid, _) in old.iter().filter(|(oid, text)| text.day < expired && !kept.contains_key(oid)) {
            self.table.remove(&mut batch, *oid);
        }
        if !batch.is_empty() {
            batch.commit().map_err(|error| writer.fail(describe(&error)))?;
        }
        self.swept = old.get(SWEPT - 1).map_or(0, |(oid, _)| oid.saturating_add(1));
        Ok(kept)
    }

    /// Today, and the first day whose texts are still there. The time is never after the wall clock.
    fn days(&self) -> (u32, u32) {
        let now = (self.wall_clock)();
        let known = self.shared.now.load(Ordering::Relaxed).min(now);
        let horizon = self.shared.admission.retention.horizon(known);
        let expired = horizon.saturating_sub(KEPT_LONGER.as_millis() as u64);
        ((now / DAY_MS) as u32, (expired / DAY_MS) as u32)
    }
}

#[cfg(test)]
mod tests;
