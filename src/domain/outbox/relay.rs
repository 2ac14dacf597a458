//! From the outbox to the event bus.
//!
//! ```text
//! outbox → read, once each → waiting events → the bus: of each user one after the other
//!        ← removed, one by one              ← a report for each
//! ```
//!
//! The bus may send an event at any time until it reports on it: the event is not handed over again before its report.
//! It holds back the later events of its user, and no events of other users.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::bus_health::BusHealth;
use super::bus_watch::{BusState, BusWatch};
use super::entry_event;
use super::relay_notify::RelayNotify;
use super::waiting_events::{EntryNames, RETRY, Ready, WaitingEvents};
use crate::content_names::{ContentNamesUnavailable, NamedContents, texts_of};
use crate::names::{NamesUnavailable, UserNames};
use model::backoff::Backoff;
use model::cloud_event::Source;
use model::ids::{Content, UserId};
use model::outbox_entry::{OutboxEntry, OutboxPartition};
use storage::delivery::{Delivery, Receipt, Report};
use storage::event_bus::EventBus;
use storage::outbox::{Outbox, OutboxNumber};
use storage::store_error::StoreError;

/// Entries that are read together, and events that are handed over together.
const BATCH_MAX: usize = 1024;
/// Events that are read and not published yet, about 400 bytes each. With so many, further events of all users stay in
/// the outbox until some are published.
pub const WAITING_MAX: usize = 16_384;
/// The time from one read to the next, unless a read was full or the outbox fills up. Entries that come within it are
/// published together, since a sync costs the same however many it carries. An entry after a longer time is published
/// at once.
const PACE: Duration = Duration::from_millis(500);
/// The interval of reads without a notification: entries may come from a gateway that has died.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// Publishes the events of entries, those of each user in the order in which the entries were made, at least once each:
/// an entry leaves the outbox when the bus has its event, and not before.
pub struct Relay {
    pub outbox: Arc<dyn Outbox>,
    pub bus: Arc<dyn EventBus>,
    /// Notified when the outbox has new entries.
    pub notify: Arc<RelayNotify>,
    pub health: Arc<BusHealth>,
    /// The source of all events.
    pub source: Source,
    /// Where users are named by texts.
    pub names: Option<UserNames>,
    /// Where contents are.
    pub contents: Option<NamedContents>,
}

/// The progress of the relay.
struct Progress {
    waiting: WaitingEvents,
    /// All entries up to this one were read.
    read: OutboxNumber,
    /// The last read was full.
    more: bool,
    /// The pause from a failed read to the next.
    pause: Option<Duration>,
    backoff: Backoff,
    /// Entries that are published and still in the outbox.
    unremoved: Vec<OutboxNumber>,
    removal_failed: bool,
    watch: BusWatch,
    receipts: UnboundedSender<Report>,
}

impl Relay {
    /// Runs for as long as it is polled.
    pub async fn run(self) {
        tokio::join!(self.relay(), self.health.watch());
    }

    async fn relay(&self) {
        let (receipts, mut reports) = unbounded_channel();
        let mut progress = Progress::new(receipts);
        loop {
            let began = Instant::now();
            self.remove(&mut progress).await;
            self.read(&mut progress).await;
            self.hand_over(&mut progress);
            if progress.more && progress.has_room() {
                continue;
            }
            let mut next = pin!(self.next_read(began, progress.pause));
            loop {
                let due = progress.waiting.due();
                tokio::select! {
                    Some(report) = reports.recv() => self.settle(&mut progress, report, &mut reports).await,
                    () = sleep_until(due.unwrap_or(began)), if due.is_some() => self.hand_over(&mut progress),
                    () = &mut next => break,
                }
                if progress.more && progress.has_room() {
                    break;
                }
            }
        }
    }

    /// Waits until it is time to look into the outbox again.
    async fn next_read(&self, began: Instant, failed: Option<Duration>) {
        if let Some(pause) = failed {
            return sleep(pause).await;
        }
        let _notified = timeout_at(began + LOOK_EVERY, self.notify.added()).await;
        let _crowded = timeout_at(began + PACE, self.notify.crowded()).await;
    }

    /// Reads the next entries, even if earlier ones still wait.
    async fn read(&self, progress: &mut Progress) {
        if !progress.has_room() {
            return;
        }
        match self.read_after(progress.read).await {
            Ok(entries) => {
                (progress.more, progress.pause) = (entries.len() == BATCH_MAX, None);
                progress.backoff.succeeded();
                progress.watch.read(None);
                let now = Instant::now();
                for (number, entry, names) in entries {
                    progress.read = number;
                    progress.waiting.add(number, entry, names, now);
                }
            }
            Err(error) => {
                (progress.more, progress.pause) = (false, Some(progress.backoff.failed()));
                progress.watch.read(Some(error.to_string()));
            }
        }
    }

    /// Entries with their names.
    async fn read_after(&self, read: OutboxNumber) -> Result<Entries, StoreError> {
        let entries = self.outbox.read(read, BATCH_MAX).await?;
        let names = match &self.names {
            Some(names) => {
                let users = entries.iter().filter_map(|(_, entry)| user_of(entry));
                names.names_of(users).await.map_err(|NamesUnavailable(error)| error)?
            }
            None => HashMap::new(),
        };
        let contents = entries.iter().filter_map(|(_, entry)| content_of(entry));
        let texts = texts_of(self.contents.as_ref(), contents).await;
        let texts = texts.map_err(|ContentNamesUnavailable(error)| error)?;
        let named = entries.into_iter().map(|(number, entry)| {
            let user = user_of(&entry).and_then(|user| names.get(&user).cloned());
            let content = content_of(&entry).map(|content| texts.only(content.oid)).unwrap_or_default();
            (number, entry, EntryNames { user, content })
        });
        Ok(named.collect())
    }

    fn hand_over(&self, progress: &mut Progress) {
        let now = Instant::now();
        loop {
            let handed = progress.waiting.hand_over(BATCH_MAX, self.bus.is_atomic(), now);
            if handed.is_empty() {
                break;
            }
            let receipt = |number| Receipt::new(number, progress.receipts.clone());
            let event = |Ready { number, entry, names: EntryNames { user, content } }| {
                entry_event::of(entry, user.as_ref(), content, &self.source, receipt(number))
            };
            self.bus.publish(handed.into_iter().map(event).collect());
        }
        let state = progress.watch.state(progress.waiting.oldest(), now);
        let full = state != BusState::Healthy && !progress.has_room();
        let (waiting, oldest) = (progress.waiting.len(), progress.waiting.oldest());
        self.health.sees(state, waiting, oldest, full, &progress.watch);
    }

    /// Takes a report and all others that have come. Published entries leave the outbox.
    async fn settle(&self, progress: &mut Progress, first: Report, reports: &mut UnboundedReceiver<Report>) {
        let (now, mut next) = (Instant::now(), Some(first));
        while let Some(Report { number, delivery }) = next {
            match delivery {
                Delivery::Published => {
                    if progress.waiting.published(number, now) {
                        progress.unremoved.push(number);
                        self.health.published();
                    }
                    progress.watch.published(now);
                }
                Delivery::Refused(why) => {
                    self.health.refused();
                    progress.failed(number, why, now);
                }
                Delivery::Unknown(why) => {
                    self.health.unknown();
                    progress.failed(number, why, now);
                }
            }
            next = reports.try_recv().ok();
        }
        self.remove(progress).await;
        self.hand_over(progress);
    }

    /// Removes published entries. An entry that cannot be removed is published again after a restart.
    async fn remove(&self, progress: &mut Progress) {
        if progress.unremoved.is_empty() {
            return;
        }
        match self.outbox.remove(progress.unremoved.clone()).await {
            Ok(()) => {
                progress.unremoved.clear();
                progress.removal_failed = false;
            }
            Err(error) if !std::mem::replace(&mut progress.removal_failed, true) => {
                tracing::warn!(event = "outbox_cleanup_failed", %error, "cannot remove published events from the outbox; they may be published twice");
            }
            Err(_) => {}
        }
    }
}

type Entries = Vec<(OutboxNumber, OutboxEntry, EntryNames)>;

fn user_of(entry: &OutboxEntry) -> Option<UserId> {
    match entry.partition() {
        OutboxPartition::User(user) => Some(user),
        OutboxPartition::Counter(..) => None,
    }
}

fn content_of(entry: &OutboxEntry) -> Option<Content> {
    match entry {
        OutboxEntry::Claim(claim) => Some(claim.content),
        OutboxEntry::Crossing(_) => None,
    }
}

impl Progress {
    fn new(receipts: UnboundedSender<Report>) -> Self {
        Progress {
            waiting: WaitingEvents::default(),
            read: 0,
            more: false,
            pause: None,
            backoff: RETRY,
            unremoved: Vec::new(),
            removal_failed: false,
            watch: BusWatch::default(),
            receipts,
        }
    }

    /// Whether there is room for a batch.
    fn has_room(&self) -> bool {
        self.waiting.len() + BATCH_MAX <= WAITING_MAX
    }

    fn failed(&mut self, number: OutboxNumber, why: String, now: Instant) {
        self.waiting.failed(number, now);
        self.watch.failed(why);
    }
}

#[cfg(test)]
#[path = "relay_fixture.rs"]
pub mod fixture;
#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
