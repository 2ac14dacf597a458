//! What the rest of the gateway leaves for one connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::presence::Devices;
use super::pushes::{Overflow, Pushes};
use crate::domain::ingest::coalesce::{Entry, Place};
use crate::domain::ingest::lane::Answered;
use crate::model::change::Outcome;
use crate::model::ids::{ConnectionId, UserId};
use crate::model::push::Push;
use crate::model::record::Record;
use crate::model::rule::{Reason, Verdict};

/// Anybody may leave something here; only the connection (or the HTTP request) that owns it takes it out.
///
/// Its answers are bounded by what it has submitted, its pushes by [`Pushes::WAITING_MAX`].
#[derive(Debug)]
pub struct Mailbox {
    /// Its own; beats of different mailboxes never share a slot.
    pub id: ConnectionId,
    /// The connection that already knows what is done through this mailbox, and so is not told.
    pub origin: ConnectionId,
    pub user: UserId,
    /// The user's connections here; `None` for a request of somebody who has none.
    pub devices: Option<Arc<Devices>>,
    content: Mutex<Waiting>,
    wake: Notify,
}

/// A beat that the commit refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    pub place: Place,
    pub reason: Reason,
    pub record: Option<Record>,
}

/// Why the connection must go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Farewell {
    Kicked,
    /// A newer connection of the same user took its place.
    Replaced,
    /// More pushes wait for it than are kept.
    TooSlow,
}

/// What was left since the last look.
#[derive(Debug, Default)]
pub struct Letters {
    /// Slots that were answered, the oldest ones.
    pub slots: usize,
    pub rejected: Vec<Rejected>,
    /// The answer to the order that was placed.
    pub order: Option<Outcome>,
    pub pushes: Vec<Push>,
    /// When to look again for pushes, though nobody rings.
    pub next_push: Option<Instant>,
    pub farewell: Option<Farewell>,
}

#[derive(Debug, Default)]
struct Waiting {
    slots: usize,
    rejected: Vec<Rejected>,
    order: Option<Outcome>,
    pushes: Pushes,
    farewell: Option<Farewell>,
}

impl Mailbox {
    /// The mailbox of a connection.
    pub fn new(user: UserId, devices: Option<Arc<Devices>>) -> Arc<Self> {
        let id = ConnectionId(rand::random());
        Arc::new(Mailbox { id, origin: id, user, devices, content: Mutex::default(), wake: Notify::new() })
    }

    /// The mailbox of a request, made on behalf of `origin`.
    pub fn of_request(user: UserId, origin: Option<ConnectionId>, devices: Option<Arc<Devices>>) -> Arc<Self> {
        let id = ConnectionId(rand::random());
        let origin = origin.unwrap_or(id);
        Arc::new(Mailbox { id, origin, user, devices, content: Mutex::default(), wake: Notify::new() })
    }

    /// Returns at once if something was left since it last returned.
    pub async fn rung(&self) {
        self.wake.notified().await;
    }

    pub fn take(&self, now: Instant) -> Letters {
        let mut waiting = self.lock();
        Letters {
            slots: std::mem::take(&mut waiting.slots),
            rejected: std::mem::take(&mut waiting.rejected),
            order: waiting.order.take(),
            pushes: waiting.pushes.take_due(now),
            next_push: waiting.pushes.next_due(),
            farewell: waiting.farewell,
        }
    }

    /// Leaves the answer to something the connection submitted.
    pub fn answer(&self, answered: &Answered) {
        let mut waiting = self.lock();
        match (&answered.entry, &answered.outcome) {
            (Entry::Slot(slot), Outcome::Beat(verdict)) => {
                waiting.slots += 1;
                if let Verdict::Rejected { reason, record } = verdict {
                    waiting.rejected.push(Rejected { place: slot.place, reason: *reason, record: record.clone() });
                }
            }
            (_, outcome) => waiting.order = Some(outcome.clone()),
        }
        drop(waiting);
        self.wake.notify_one();
    }

    /// Leaves a record that another device wrote: at once, or the latest after at most `steady`.
    pub fn push_record(&self, record: &Record, steady: Option<Duration>) {
        self.leave(|pushes| match steady {
            None => pushes.urgent_record(record.clone()),
            Some(interval) => pushes.steady_record(record.clone(), interval, Instant::now()),
        });
    }

    /// Leaves a forgetting or a switch of another device.
    pub fn push(&self, push: &Push) {
        self.leave(|pushes| pushes.forgetting(push.clone()));
    }

    /// Tells the connection to go. The first reason stands.
    pub fn dismiss(&self, farewell: Farewell) {
        self.lock().farewell.get_or_insert(farewell);
        self.wake.notify_one();
    }

    fn leave(&self, push: impl FnOnce(&mut Pushes) -> Result<(), Overflow>) {
        let mut waiting = self.lock();
        if waiting.farewell.is_some() {
            return;
        }
        if let Err(Overflow) = push(&mut waiting.pushes) {
            waiting.farewell = Some(Farewell::TooSlow);
        }
        drop(waiting);
        self.wake.notify_one();
    }

    /// Nothing that could panic runs under the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn mailbox(user: UserId) -> Arc<Mailbox> {
        Mailbox::new(user, None)
    }
}
