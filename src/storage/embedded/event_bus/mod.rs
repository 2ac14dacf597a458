//! The event log inside the gateway's own process, on [fjall], in a folder of the data directory of its own: nothing
//! that happens here slows the hot store.
//!
//! ```text
//! publish → queue → writer thread: one batch, one fdatasync     → reports, and readers at the end are told
//! read    → queue → reader thread: a snapshot of the tables     → answer
//!                   writer thread, between publishes: what is too old or too much goes, oldest first
//! ```
//!
//! **Order.** Offsets begin with 1 and have no gaps. The newest one is kept beside the events, so that it is not used
//! again when they have all gone. Offsets are written with their events: what a kill has torn was never answered. A
//! random id is made with the log, so that a consumer notices when offsets begin anew because the folder was removed.
//!
//! **Failure.** After a failed write or sync publishing is refused, reads go on, and the writer opens the log anew,
//! first [`RETRY_MIN`] later, then ever later up to [`RETRY_MAX`], until it succeeds. A gateway without its log goes on
//! acking: events wait in the outbox.
//!
//! **Disk.** Events are cut into segments, about a sixteenth of the retention each, of a table of their own. What is
//! too old or too much can be read no more within a second; its files go when a whole segment is. Nothing is too old
//! before two readings of the clock agree on it ([`AgreedTime`](crate::agreed_time::AgreedTime)).
//!
//! **Memory.** 4 MiB of blocks; of tables in the making up to 2 MiB a segment, in all no more than the journals hold;
//! [`PUBLISH_QUEUE_MAX`] batches of events and [`READ_QUEUE_MAX`] questions; an answer has at most [`READ_BYTES_MAX`].

mod age_clock;
mod codec;
mod error;
mod prune;
mod segments;
mod source;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::RwLock;
use tokio::sync::watch;

pub use self::age_clock::ClockCheck;
use self::error::LogError;
pub use self::source::LogSource;
use self::tables::Tables;
use self::writer::{Publish, Writer};
use crate::folder::Folder;
use crate::open_error::OpenError;
use crate::readers::Readers;
use model::event_page::LogPart;
use storage::Clock;
use storage::event_bus::config::Config;
use storage::event_bus::{BusError, Event, EventBus, EventLog, EventTopic, Offset};

/// Batches of events that wait to be written; more are refused.
pub const PUBLISH_QUEUE_MAX: usize = 16;
/// Questions that wait to be read.
pub const READ_QUEUE_MAX: usize = 1024;
/// Bytes of events in one answer; the first is given however long it is.
pub const READ_BYTES_MAX: usize = 1 << 20;
/// How soon a failed log is opened anew.
pub const RETRY_MIN: Duration = Duration::from_millis(100);
pub const RETRY_MAX: Duration = Duration::from_secs(10);

pub struct EmbeddedLog {
    topic: EventTopic,
    queue: Option<SyncSender<Publish>>,
    writer: Option<JoinHandle<()>>,
    readers: Readers<Arc<Shared>, ()>,
    newest: watch::Receiver<Offset>,
}

/// The state that the threads of a log share.
struct Shared {
    /// None while the log cannot be opened.
    tables: RwLock<Option<Tables>>,
    path: PathBuf,
}

impl EmbeddedLog {
    /// In the data directory.
    pub fn folder(topic: EventTopic) -> &'static str {
        match topic {
            EventTopic::Rewards => "events",
            EventTopic::Positions => "positions",
        }
    }

    /// Opens the log of a topic in this data directory, which the process has taken; makes it if it is missing. `clock`
    /// may go back: what is published then counts as published no earlier than what was before it.
    pub fn open(
        data_dir: &Path,
        topic: EventTopic,
        config: &Config,
        clock: Clock,
        check: ClockCheck,
    ) -> Result<Self, OpenError> {
        let here = data_dir.join(Self::folder(topic));
        let folder = Folder::of(data_dir, Self::folder(topic));
        let open =
            |path: &Path, journal| Tables::open(path, journal).map_err(|error| OpenError::of_tables(&here, error));
        let tables = folder.open(open)?;
        let damaged = |LogError(why)| OpenError::Damaged { path: here.clone(), why };
        let state = writer::state_of(&tables).map_err(damaged)?;
        tables.ensure_id().map_err(|error| OpenError::of_tables(&here, error))?;

        let unusable = |source| OpenError::unusable(&here, source);
        let shared = Arc::new(Shared { tables: RwLock::new(Some(tables)), path: folder.tables() });
        let readers = Readers::start(&[reader_of(topic)], &shared, READ_QUEUE_MAX).map_err(unusable)?;
        let (queue, asked) = sync_channel(PUBLISH_QUEUE_MAX);
        let (teller, newest) = watch::channel(state.newest);
        let writer = Writer::new(shared, state, config, clock, check, teller);
        let writer = thread::Builder::new().name(writer_of(topic).into()).spawn(move || writer.run(&asked));
        Ok(EmbeddedLog { topic, queue: Some(queue), writer: Some(writer.map_err(unusable)?), readers, newest })
    }

    /// The id of the log, and the offset of its last event that was published before this time, milliseconds; 0 if all
    /// that it has are later.
    async fn before(&self, time: u64) -> Result<(String, Offset), LogError> {
        let asked = self.readers.ask((), move |shared: &Arc<Shared>| shared.before(time));
        asked.answer().await.map_err(|unread| away(&unread.to_string()))?
    }
}

impl EventBus for EmbeddedLog {
    fn publish(&self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        let line = |Event { topic: _, cloud_event, receipt }: Event| (cloud_event.to_json(), receipt);
        let (events, receipts) = events.into_iter().map(line).unzip();
        let publish = Publish { events, receipts };
        let Some(queue) = &self.queue else { return publish.refused("store is closing") };
        match queue.try_send(publish) {
            Ok(()) => {}
            Err(TrySendError::Full(publish)) => publish.refused("too much waits to be written"),
            Err(TrySendError::Disconnected(publish)) => publish.refused("store is closing"),
        }
    }

    /// A call is one batch of the tables.
    fn is_atomic(&self) -> bool {
        true
    }
}

impl EventLog for EmbeddedLog {
    fn read(&self, after: Offset, limit: usize) -> BoxFuture<'static, Result<LogPart, BusError>> {
        let asked = self.readers.ask((), move |shared: &Arc<Shared>| shared.read(after, limit));
        Box::pin(async move { Ok(asked.answer().await.map_err(|unread| away(&unread.to_string()))??) })
    }

    fn newest(&self) -> watch::Receiver<Offset> {
        self.newest.clone()
    }
}

impl Drop for EmbeddedLog {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl Shared {
    fn read(&self, after: Offset, limit: usize) -> Result<LogPart, LogError> {
        let tables = self.tables.read();
        let view = tables.as_ref().ok_or_else(|| away("cannot be opened"))?.view();
        let state = view.state()?;
        let from = after.saturating_add(1).max(state.oldest);
        let (mut events, mut bytes) = (Vec::new(), 0);
        view.entries_from(from, |offset, entry| {
            bytes += entry.event.len();
            let more = events.len() < limit && (events.is_empty() || bytes <= READ_BYTES_MAX);
            if more {
                events.push((offset, entry.event.to_owned()));
            }
            more
        })?;
        Ok(LogPart { events, newest: state.newest, log: view.id()? })
    }

    /// Times do not go back in the log: a binary search.
    fn before(&self, time: u64) -> Result<(String, Offset), LogError> {
        let tables = self.tables.read();
        let view = tables.as_ref().ok_or_else(|| away("cannot be opened"))?.view();
        let state = view.state()?;
        let (mut earlier, mut later) = (state.oldest - 1, state.newest + 1);
        while later - earlier > 1 {
            let offset = earlier + (later - earlier) / 2;
            match view.entry(offset, |entry| entry.time)? {
                Some(found) if found >= time => later = offset,
                _ => earlier = offset,
            }
        }
        Ok((view.id()?, earlier))
    }
}

/// The name of the thread that reads the log.
fn reader_of(topic: EventTopic) -> &'static str {
    match topic {
        EventTopic::Rewards => "events-read",
        EventTopic::Positions => "positions-read",
    }
}

/// The same, of the thread that writes it.
fn writer_of(topic: EventTopic) -> &'static str {
    match topic {
        EventTopic::Rewards => "events-write",
        EventTopic::Positions => "positions-write",
    }
}

fn away(why: &str) -> LogError {
    LogError(why.to_owned())
}
