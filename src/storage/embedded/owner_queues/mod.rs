//! Owners' queues inside the gateway's own process, on [fjall], in a folder of the data directory of their own.
//!
//! ```text
//! changes, appends, ends of leases → queue → writer thread: one batch, one fdatasync → answers
//! leases                           →         writer thread, from memory and the tables → answer
//! reads                            → queue → reader thread: a snapshot of the tables  → answer
//! ```
//!
//! The control queue and the leases are in memory (`control`), since they are of this process alone; they are made from
//! the tables at the start. An owner with nothing to do costs its record on disk, and nothing else.
//!
//! **Failure.** After a failed write every request is refused with its reason. What is in memory is made anew from the
//! tables before the next one. If fjall has given up its files, requests fail until the gateway is started again; events
//! wait in the log meanwhile.
//!
//! **Bounds.** They are applied in a batch of their own, before the append is answered. A crash in between leaves a
//! queue above its bounds until the next append.
//!
//! **Memory.** 16 MiB of blocks, and up to 8 MiB for each of seven tables in the making.

mod append;
mod bounds;
mod change;
mod control;
mod draft;
mod head;
mod lease;
mod read;
mod request;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

use std::future::ready;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};

use self::request::Request;
use self::tables::{Tables, View};
use self::writer::Writer;
use crate::folder::Folder;
use crate::open_error::OpenError;
use crate::readers::Readers;
use crate::write_queue::WriteQueue;
use model::subscribers::SubscriberId;
use storage::Clock;
use storage::event_bus::Offset;
use storage::event_bus::part::Part;
use storage::event_bus::source::{Cursors, LogMark, Marks};
use storage::owner_queues::{
    Append, Appended, Bounds, Change, Changed, Dead, Done, Due, Ended, Fence, Fill, Filled, Given, Limit, Number,
    Offer, Owner, OwnerQueues, Replay, Revision, Subscriptions, Totals, Unreadable, Version, Wanted,
};
use storage::store_error::{Answer, StoreError};

/// Reads that wait.
const READ_QUEUE_MAX: usize = 1_024;

pub struct EmbeddedQueues {
    // The thread ends before what it uses is closed.
    queue: WriteQueue<Request>,
    readers: Readers<Tables, ()>,
    bounds: Bounds,
    clock: Clock,
    /// In memory, since the cascade is of this process, too: on a full disk a store must write nothing. 0 = never.
    looked_at: AtomicU64,
}

impl EmbeddedQueues {
    /// In the data directory.
    pub const FOLDER: &str = "owners";

    /// Opens the queues in this data directory, which the process has taken; makes them if they are missing. `clock`:
    /// the server's, by which events become old.
    pub fn open(data_dir: &Path, bounds: Bounds, clock: Clock) -> Result<Self, OpenError> {
        let here = data_dir.join(Self::FOLDER);
        let open =
            |path: &Path, journal| Tables::open(path, journal).map_err(|error| OpenError::of_tables(&here, error));
        let tables = Folder::of(data_dir, Self::FOLDER).open(open)?;
        let unusable = |source| OpenError::unusable(&here, source);
        let readers = Readers::start(&["owners-read"], &tables, READ_QUEUE_MAX).map_err(unusable)?;
        let damaged = |error: StoreError| OpenError::Damaged { path: here.clone(), why: error.to_string() };
        let mut writer = Writer::open(tables, bounds, clock.clone()).map_err(damaged)?;
        let queue = WriteQueue::start("owners-write", "requests about subscribers", move |all| writer.answer(all));
        Ok(EmbeddedQueues { queue: queue.map_err(unusable)?, readers, bounds, clock, looked_at: AtomicU64::new(0) })
    }

    fn read<T: Send + 'static>(&self, read: impl FnOnce(&View) -> Result<T, StoreError> + Send + 'static) -> Answer<T> {
        let asked = self.readers.ask((), move |tables: &Tables| read(&tables.view()));
        Box::pin(async move { asked.answer().await? })
    }
}

impl Cursors for EmbeddedQueues {
    fn cursor(&self, part: Part) -> Answer<Offset> {
        self.read(move |view| view.cursor(&part))
    }

    fn move_cursor(&self, part: Part, to: Offset) -> Answer<()> {
        self.queue.ask(|answer| Request::MoveCursor(part, to, answer))
    }
}

impl Marks for EmbeddedQueues {
    fn mark(&self, part: Part) -> Answer<Option<LogMark>> {
        self.read(move |view| view.mark(&part))
    }

    fn keep_mark(&self, part: Part, mark: LogMark) -> Answer<()> {
        self.queue.ask(|answer| Request::KeepMark(part, mark, answer))
    }
}

impl OwnerQueues for EmbeddedQueues {
    fn owner(&self, id: SubscriberId) -> Answer<(Version, Option<Result<Owner, Unreadable>>)> {
        let now = (self.clock)();
        self.read(move |view| read::owner(view, id, now))
    }

    fn owners(&self, after: Option<SubscriberId>, limit: usize) -> Answer<Vec<Owner>> {
        let now = (self.clock)();
        self.read(move |view| read::owners(view, after, limit, now))
    }

    fn change(&self, id: SubscriberId, version: Version, change: Change) -> Answer<Changed> {
        self.queue.ask(|answer| Request::Change(id, version, change, answer))
    }

    fn dead(&self, id: SubscriberId, after: Number, limit: usize) -> Answer<Option<Vec<Dead>>> {
        self.read(move |view| read::dead(view, &id, after, limit))
    }

    fn resend(&self, id: SubscriberId) -> Answer<Option<u64>> {
        self.queue.ask(|answer| Request::Resend(id, answer))
    }

    fn looked_at(&self) -> Answer<Option<u64>> {
        let at = self.looked_at.load(Ordering::Relaxed);
        Box::pin(ready(Ok((at > 0).then_some(at))))
    }

    fn keep_look(&self, at: u64) -> Answer<()> {
        self.looked_at.store(at, Ordering::Relaxed);
        Box::pin(ready(Ok(())))
    }

    fn subscriptions(&self, since: Revision) -> Answer<Subscriptions> {
        self.read(move |view| read::subscriptions(view, &since))
    }

    fn append(&self, part: Part, events: Vec<Append>) -> Answer<Appended> {
        self.queue.ask(|answer| Request::Append(part, events, answer))
    }

    /// No lease is given: here one costs no round trip.
    fn append_and_take(
        &self,
        parts: Vec<Wanted>,
        _: Offer,
    ) -> BoxFuture<'static, (Result<Appended, StoreError>, Given)> {
        let append = |(part, events): Wanted| self.append(part, events.iter().map(Append::of).collect());
        let appends: Vec<_> = parts.into_iter().map(append).collect();
        Box::pin(async move {
            let mut all = Appended::default();
            for appended in join_all(appends).await {
                match appended {
                    Ok(appended) => all += appended,
                    Err(error) => return (Err(error), Given::default()),
                }
            }
            (Ok(all), Given { is_due: all.queued > 0, ..Given::default() })
        })
    }

    fn take(&self, limit: Limit, lease: Duration) -> Answer<Due> {
        self.queue.ask(|answer| Request::Take(limit, lease, answer))
    }

    fn done(&self, owner: SubscriberId, fence: Fence, done: Done) -> Answer<Ended> {
        self.queue.ask(|answer| Request::Done(owner, fence, done, answer))
    }

    fn done_and_take(&self, owner: SubscriberId, fence: Fence, done: Done, _: Option<Duration>) -> Answer<Given> {
        let done = self.done(owner, fence, done);
        Box::pin(async move { done.await.map(|_| Given { is_due: true, ..Given::default() }) })
    }

    fn expire(&self) -> Answer<u64> {
        self.queue.ask(Request::Expire)
    }

    fn replays(&self) -> Answer<Vec<Replay>> {
        let bounds = self.bounds;
        self.read(move |view| read::replays(view, &bounds))
    }

    fn fill(&self, fill: Fill) -> Answer<Filled> {
        self.queue.ask(|answer| Request::Fill(fill, answer))
    }

    fn totals(&self) -> Answer<Totals> {
        self.queue.ask(Request::Totals)
    }
}
