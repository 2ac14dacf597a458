//! Events that are read from the outbox and not published yet.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::model::backoff::Backoff;
use crate::model::ids::UserId;
use crate::model::outbox_entry::OutboxEntry;
use crate::storage::outbox::OutboxNumber;

/// What waits is published no later than this after the bus is back.
pub const RETRY_MAX: Duration = Duration::from_secs(1);
/// How soon an event that failed is handed over again, and the outbox read again.
pub const RETRY: Backoff = Backoff::new(Duration::from_millis(100), RETRY_MAX);

/// Each user's events in their order. While the bus has one of a user and has not reported it, the user's later ones
/// stay here; those of all others go on.
#[derive(Default)]
pub struct WaitingEvents {
    entries: BTreeMap<OutboxNumber, Waiting>,
    users: HashMap<UserId, UserEvents>,
    /// The first events of the users of whom the bus has none.
    ready: BTreeSet<OutboxNumber>,
    /// Those of users one of whose events has failed: ready from then on.
    resting: BTreeSet<(Instant, OutboxNumber)>,
}

struct Waiting {
    entry: OutboxEntry,
    since: Instant,
}

/// There is at least one.
#[derive(Default)]
struct UserEvents {
    numbers: VecDeque<OutboxNumber>,
    /// Events that the bus has and has not reported.
    unreported: usize,
    /// One of those has failed.
    failed: bool,
    /// One after the other.
    failures: u32,
}

impl WaitingEvents {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Since when the oldest of them waits.
    pub fn oldest(&self) -> Option<Instant> {
        self.entries.first_key_value().map(|(_, waiting)| waiting.since)
    }

    /// When there will be something to hand over, unless a report comes before.
    pub fn due(&self) -> Option<Instant> {
        self.resting.first().map(|(at, _)| *at)
    }

    /// An entry that was read, behind all that were read before it.
    pub fn add(&mut self, number: OutboxNumber, entry: OutboxEntry, now: Instant) {
        let user = self.users.entry(entry.user()).or_default();
        if user.numbers.is_empty() {
            self.ready.insert(number);
        }
        user.numbers.push_back(number);
        self.entries.insert(number, Waiting { entry, since: now });
    }

    /// What the bus is to be given now, oldest first, at most `limit`: one event of a user, or all with `runs`.
    pub fn hand_over(&mut self, limit: usize, runs: bool, now: Instant) -> Vec<(OutboxNumber, &OutboxEntry)> {
        let later = self.resting.split_off(&(now + Duration::from_nanos(1), 0));
        let rested = std::mem::replace(&mut self.resting, later);
        self.ready.extend(rested.into_iter().map(|(_, number)| number));
        let mut handed = Vec::new();
        while handed.len() < limit
            && let Some(first) = self.ready.pop_first()
        {
            let Some(user) = self.entries.get(&first).and_then(|waiting| self.users.get_mut(&waiting.entry.user()))
            else {
                continue;
            };
            user.unreported = if runs { user.numbers.len().min(limit - handed.len()) } else { 1 };
            handed.extend(user.numbers.iter().take(user.unreported));
        }
        handed.sort_unstable();
        handed.into_iter().filter_map(|number| Some((number, &self.entries.get(&number)?.entry))).collect()
    }

    /// The bus has it. False: it was not waited for.
    pub fn published(&mut self, number: OutboxNumber, now: Instant) -> bool {
        let Some(waiting) = self.entries.remove(&number) else { return false };
        self.reported(waiting.entry.user(), now, |user| match user.numbers.front() {
            Some(first) if *first == number => drop(user.numbers.pop_front()),
            _ => user.numbers.retain(|other| *other != number),
        });
        true
    }

    /// It is handed over again, alone, after a pause.
    pub fn failed(&mut self, number: OutboxNumber, now: Instant) {
        if let Some(waiting) = self.entries.get(&number) {
            self.reported(waiting.entry.user(), now, |user| user.failed = true);
        }
    }

    fn reported(&mut self, id: UserId, now: Instant, change: impl FnOnce(&mut UserEvents)) {
        let Some(user) = self.users.get_mut(&id) else { return };
        change(user);
        user.unreported = user.unreported.saturating_sub(1);
        if user.unreported > 0 {
            return;
        }
        user.failures = if user.failed { user.failures + 1 } else { 0 };
        match user.numbers.front() {
            None => drop(self.users.remove(&id)),
            Some(first) if std::mem::take(&mut user.failed) => {
                let pause = RETRY.after(user.failures);
                self.resting.insert((now + pause, *first));
            }
            Some(first) => drop(self.ready.insert(*first)),
        }
    }
}
