//! What the rest of the gateway leaves for one connection.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::bell::Bell;
use super::pushes::{Overflow, Pushes};
use crate::domain::rewards::news::News;
use crate::model::change::Outcome;
use crate::model::ids::{ConnectionId, UserId};
use crate::model::push::Push;
use crate::model::record::Record;
use crate::model::revocation::TokenMark;
use crate::model::rule::Reason;

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
    company: Company,
    bell: Bell,
    content: Mutex<Waiting>,
}

/// The user's connections here, and how many of them this mailbox stands for.
#[derive(Debug)]
struct Company {
    connections: Arc<AtomicUsize>,
    alone: usize,
}

/// Where a beat stood: its frame, and its place in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub seq: u32,
    pub index: u32,
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
    /// Whether one of these answers must not be told late.
    pub urgent: bool,
    pub rejected: Vec<Rejected>,
    pub news: Option<Box<News>>,
    /// The answer to the order that was placed.
    pub order: Option<Box<Outcome>>,
    pub pushes: Vec<Push>,
    /// When to look again for pushes, though nobody rings.
    pub next_push: Option<Instant>,
    pub farewell: Option<Farewell>,
}

/// What is rare is boxed: every connection keeps one of these.
#[derive(Debug, Default)]
struct Waiting {
    /// What a connection showed last; nothing in a request.
    token: TokenMark,
    slots: usize,
    urgent: bool,
    /// The owner is not to be woken for answers that may be told late.
    patient: bool,
    /// The bell was rung since the owner last looked.
    rung: bool,
    rejected: Vec<Rejected>,
    news: Option<Box<News>>,
    order: Option<Box<Outcome>>,
    pushes: Option<Box<Pushes>>,
    farewell: Option<Farewell>,
}

impl Mailbox {
    /// The mailbox of a connection; `connections` counts those of its user, itself included.
    pub fn of_connection(user: UserId, token: TokenMark, connections: Arc<AtomicUsize>, bell: Bell) -> Arc<Self> {
        let id = ConnectionId(rand::random());
        let mailbox = Self::new(id, id, user, Company { connections, alone: 1 }, bell);
        mailbox.renewed(token);
        mailbox
    }

    /// The mailbox of a request, made on behalf of `origin`; `connections` counts those of its user.
    pub fn of_request(
        user: UserId,
        origin: Option<ConnectionId>,
        connections: Arc<AtomicUsize>,
        bell: Bell,
    ) -> Arc<Self> {
        let id = ConnectionId(rand::random());
        Self::new(id, origin.unwrap_or(id), user, Company { connections, alone: 0 }, bell)
    }

    fn new(id: ConnectionId, origin: ConnectionId, user: UserId, company: Company, bell: Bell) -> Arc<Self> {
        Arc::new(Mailbox { id, origin, user, company, bell, content: Mutex::default() })
    }

    /// Whether the user has other connections here, as far as a look without a lock can tell.
    pub fn has_company(&self) -> bool {
        self.company.connections.load(Ordering::Relaxed) > self.company.alone
    }

    /// The connection goes by another token from now on.
    pub fn renewed(&self, token: TokenMark) {
        self.lock().token = token;
    }

    /// Looks at the token the connection goes by.
    pub fn token<T>(&self, look: impl FnOnce(&TokenMark) -> T) -> T {
        look(&self.lock().token)
    }

    pub fn take(&self, now: Instant) -> Letters {
        let mut waiting = self.lock();
        waiting.rung = false;
        let (pushes, next_push) = match &mut waiting.pushes {
            None => (Vec::new(), None),
            Some(pushes) => (pushes.take_due(now), pushes.next_due()),
        };
        waiting.pushes.take_if(|pushes| pushes.is_empty());
        Letters {
            slots: std::mem::take(&mut waiting.slots),
            urgent: std::mem::take(&mut waiting.urgent),
            rejected: std::mem::take(&mut waiting.rejected),
            news: waiting.news.take(),
            order: waiting.order.take(),
            pushes,
            next_push,
            farewell: waiting.farewell,
        }
    }

    /// Leaves the answer to the oldest slot that is not answered yet. `steady`: it may be told late.
    pub fn answer_slot(&self, rejected: Option<Rejected>, steady: bool) {
        let mut waiting = self.lock();
        waiting.slots += 1;
        waiting.urgent |= !steady;
        waiting.rejected.extend(rejected);
        if !steady || !waiting.patient {
            self.ring(waiting);
        }
    }

    /// Leaves what the owner is to know beside the next answer.
    pub fn leave_news(&self, news: News) {
        self.lock().news.get_or_insert_default().add(news);
    }

    /// The same without an answer.
    pub fn bring_news(&self, news: News) {
        let mut waiting = self.lock();
        waiting.news.get_or_insert_default().add(news);
        self.ring(waiting);
    }

    /// Whether the owner looks of its own accord in time for steady answers.
    pub fn be_patient(&self, patient: bool) {
        let mut waiting = self.lock();
        waiting.patient = patient;
        if !patient && waiting.slots > 0 {
            self.ring(waiting);
        }
    }

    /// Leaves the answer to the order that was placed.
    pub fn answer_order(&self, outcome: Outcome) {
        let mut waiting = self.lock();
        waiting.order = Some(Box::new(outcome));
        self.ring(waiting);
    }

    /// Leaves a record that another device wrote: at once, or the latest after at most `steady`.
    pub fn push_record(&self, record: &Record, steady: Option<Duration>) {
        self.leave(|pushes| {
            // Whoever has a steady record waiting looks again when that is due.
            let looks_anyway = steady.is_some() && !pushes.is_empty();
            let due = steady.map(|interval| Instant::now() + interval);
            pushes.record(record.clone(), due).map(|()| !looks_anyway)
        });
    }

    /// Leaves a record that comes too late to be told, for the sake of what waits in its place.
    pub fn push_late_record(&self, record: &Record, steady: Option<Duration>) {
        let mut waiting = self.lock();
        let due = steady.map(|interval| Instant::now() + interval);
        if waiting.pushes.as_mut().is_some_and(|pushes| pushes.late_record(record.clone(), due)) {
            self.ring(waiting);
        }
    }

    /// Leaves a forgetting or a switch of another device.
    pub fn push(&self, push: Push) {
        self.leave(|pushes| pushes.forgetting(push).map(|()| true));
    }

    /// Tells the connection to go. The first reason stands.
    pub fn dismiss(&self, farewell: Farewell) {
        let mut waiting = self.lock();
        waiting.farewell.get_or_insert(farewell);
        self.ring(waiting);
    }

    /// `push` says whether the owner has to look now.
    fn leave(&self, push: impl FnOnce(&mut Pushes) -> Result<bool, Overflow>) {
        let mut waiting = self.lock();
        if waiting.farewell.is_some() {
            return;
        }
        let look = push(waiting.pushes.get_or_insert_default()).unwrap_or_else(|Overflow| {
            waiting.farewell = Some(Farewell::TooSlow);
            true
        });
        if look {
            self.ring(waiting);
        }
    }

    fn ring(&self, mut waiting: MutexGuard<'_, Waiting>) {
        let again = std::mem::replace(&mut waiting.rung, true);
        drop(waiting);
        if !again {
            self.bell.ring();
        }
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
        Mailbox::of_request(user, None, Arc::default(), Bell::Own(Arc::default()))
    }
}
