//! Events that are read from the outbox and not published yet.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use model::backoff::Backoff;
use model::content_name::ContentTexts;
use model::outbox_entry::{OutboxEntry, OutboxPartition};
use model::user_name::UserName;
use storage::outbox::OutboxNumber;

/// Waiting events are published no later than this after the bus is back.
pub const RETRY_MAX: Duration = Duration::from_secs(1);
/// The pauses before a failed event is handed over again, and a failed read of the outbox repeated.
pub const RETRY: Backoff = Backoff::new(Duration::from_millis(100), RETRY_MAX);

/// The events of each partition, such as a user's, in order. While the bus has an unreported event of a partition, its
/// later events stay here; those of others go on.
#[derive(Default)]
pub struct WaitingEvents {
    entries: BTreeMap<OutboxNumber, Waiting>,
    partitions: HashMap<OutboxPartition, PartitionEvents>,
    /// The first events of partitions without an unreported event.
    ready: BTreeSet<OutboxNumber>,
    /// The first events of partitions with a failed event, with the time from which each is ready.
    resting: BTreeSet<(Instant, OutboxNumber)>,
}

struct Waiting {
    entry: OutboxEntry,
    names: EntryNames,
    since: Instant,
}

/// The names that an event has, as far as they are known.
#[derive(Default)]
pub struct EntryNames {
    pub user: Option<UserName>,
    pub content: ContentTexts,
}

/// An event to hand over.
pub struct Ready<'a> {
    pub number: OutboxNumber,
    pub entry: &'a OutboxEntry,
    pub names: &'a EntryNames,
}

/// The events of a partition: at least one.
#[derive(Default)]
struct PartitionEvents {
    numbers: VecDeque<OutboxNumber>,
    /// Events that the bus has and has not reported.
    unreported: usize,
    /// Whether one of the unreported events has failed.
    failed: bool,
    /// The number of failures in a row.
    failures: u32,
}

impl WaitingEvents {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Since when the oldest event waits.
    pub fn oldest(&self) -> Option<Instant> {
        self.entries.first_key_value().map(|(_, waiting)| waiting.since)
    }

    /// When the next event is ready, unless a report comes before.
    pub fn due(&self) -> Option<Instant> {
        self.resting.first().map(|(at, _)| *at)
    }

    /// Adds an entry after all that were added before it.
    pub fn add(&mut self, number: OutboxNumber, entry: OutboxEntry, names: EntryNames, now: Instant) {
        let partition = self.partitions.entry(entry.partition()).or_default();
        if partition.numbers.is_empty() {
            self.ready.insert(number);
        }
        partition.numbers.push_back(number);
        self.entries.insert(number, Waiting { entry, names, since: now });
    }

    /// The events to hand over now, oldest first, at most `limit`: one event of each partition, or all with
    /// `runs`.
    pub fn hand_over(&mut self, limit: usize, runs: bool, now: Instant) -> Vec<Ready<'_>> {
        let later = self.resting.split_off(&(now + Duration::from_nanos(1), 0));
        let rested = std::mem::replace(&mut self.resting, later);
        self.ready.extend(rested.into_iter().map(|(_, number)| number));
        let mut handed = Vec::new();
        while handed.len() < limit
            && let Some(first) = self.ready.pop_first()
        {
            let partition = self.entries.get(&first).map(|waiting| waiting.entry.partition());
            let Some(events) = partition.and_then(|partition| self.partitions.get_mut(&partition)) else { continue };
            events.unreported = if runs { events.numbers.len().min(limit - handed.len()) } else { 1 };
            handed.extend(events.numbers.iter().take(events.unreported));
        }
        handed.sort_unstable();
        let ready = |number| {
            let Waiting { entry, names, .. } = self.entries.get(&number)?;
            Some(Ready { number, entry, names })
        };
        handed.into_iter().filter_map(ready).collect()
    }

    /// Removes a published event. False: it was not waiting.
    pub fn published(&mut self, number: OutboxNumber, now: Instant) -> bool {
        let Some(waiting) = self.entries.remove(&number) else { return false };
        self.reported(waiting.entry.partition(), now, |events| match events.numbers.front() {
            Some(first) if *first == number => drop(events.numbers.pop_front()),
            _ => events.numbers.retain(|other| *other != number),
        });
        true
    }

    /// Takes note of a failed event: it is handed over again, alone, after a pause.
    pub fn failed(&mut self, number: OutboxNumber, now: Instant) {
        if let Some(waiting) = self.entries.get(&number) {
            self.reported(waiting.entry.partition(), now, |events| events.failed = true);
        }
    }

    fn reported(&mut self, partition: OutboxPartition, now: Instant, change: impl FnOnce(&mut PartitionEvents)) {
        let Some(events) = self.partitions.get_mut(&partition) else { return };
        change(events);
        events.unreported = events.unreported.saturating_sub(1);
        if events.unreported > 0 {
            return;
        }
        events.failures = if events.failed { events.failures + 1 } else { 0 };
        match events.numbers.front() {
            None => drop(self.partitions.remove(&partition)),
            Some(first) if std::mem::take(&mut events.failed) => {
                let pause = RETRY.after(events.failures);
                self.resting.insert((now + pause, *first));
            }
            Some(first) => drop(self.ready.insert(*first)),
        }
    }
}
