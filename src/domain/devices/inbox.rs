//! What the rest of the gateway leaves for one connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::pushes::{Overflow, Pushes};
use super::ready_list::Notifier;
use crate::domain::devices::client::Client;
use crate::domain::rewards::reward_notice::RewardNotice;
use crate::model::change::Outcome;
use crate::model::ids::{ConnectionId, UserId};
use crate::model::push::Push;
use crate::model::record::Record;
use crate::model::revocation::TokenMark;
use crate::model::rule::Reason;
use crate::model::visitor::Visitor;

/// Any part may leave something here; only the connection (or the HTTP request) that owns it takes it out.
///
/// Its answers are bounded by what it has submitted, its pushes by [`Pushes::WAITING_MAX`].
#[derive(Debug)]
pub struct Inbox {
    /// Its own; beats of different inboxes never share a slot.
    pub id: ConnectionId,
    /// The connection that already knows what is done through this inbox, and so is not told.
    pub origin: ConnectionId,
    pub user: UserId,
    pub visitor: Visitor,
    others: UserConnections,
    notifier: Notifier,
    content: Mutex<Waiting>,
}

/// The user's connections here, and how many of them this inbox stands for.
#[derive(Debug)]
struct UserConnections {
    connections: Arc<AtomicUsize>,
    alone: usize,
}

/// Where a beat stood: its frame, and its place in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeatRef {
    pub seq: u32,
    pub index: u32,
}

/// A beat that the commit refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    pub place: BeatRef,
    pub reason: Reason,
    pub record: Option<Record>,
}

/// Why the connection must go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseRequest {
    Kicked,
    /// A newer connection of the same user took its place.
    Replaced,
    /// More pushes wait for it than are kept.
    TooSlow,
    /// The user's stored state cannot be read, so what the connection has sent cannot be committed.
    Unreadable,
}

/// What was left since the last look.
#[derive(Debug, Default)]
pub struct InboxBatch {
    /// Slots that were answered, the oldest ones.
    pub slots: usize,
    /// Whether one of these answers must not be told late.
    pub urgent: bool,
    pub rejected: Vec<Rejected>,
    pub news: Option<Box<RewardNotice>>,
    /// The answer to the order that was placed.
    pub order: Option<Box<Outcome>>,
    pub pushes: Vec<Push>,
    /// When to look again for pushes without a notification.
    pub next_push: Option<Instant>,
    pub close_request: Option<CloseRequest>,
    /// A read waits for what the connection holds.
    pub commit_held: bool,
    /// A request on behalf of the connection changes something.
    pub record_changed: bool,
}

/// What is rare is boxed: every connection keeps one of these.
#[derive(Debug, Default)]
struct Waiting {
    /// What a connection showed last; nothing in a request.
    token: TokenMark,
    /// From the welcome of a connection on; nothing in a request.
    client: Option<Box<Client>>,
    slots: usize,
    /// No slot will be answered any more.
    unanswerable: bool,
    urgent: bool,
    /// The owner is not to be woken for answers that may be told late.
    patient: bool,
    /// The owner was notified since it last looked.
    notified: bool,
    rejected: Vec<Rejected>,
    news: Option<Box<RewardNotice>>,
    order: Option<Box<Outcome>>,
    pushes: Option<Box<Pushes>>,
    close_request: Option<CloseRequest>,
    /// The connection holds its oldest unanswered slot, or has just committed it.
    holds: bool,
    record_changed: bool,
    /// Reads that wait for that slot: dropped with its answer.
    #[expect(clippy::box_collection, reason = "every connection keeps the room, and few have one")]
    reads: Option<Box<Vec<oneshot::Sender<()>>>>,
}

impl Inbox {
    /// The inbox of a connection; `connections` counts those of its user, itself included.
    pub fn of_connection(
        user: UserId,
        token: TokenMark,
        visitor: Visitor,
        connections: Arc<AtomicUsize>,
        notifier: Notifier,
    ) -> Arc<Self> {
        let id = ConnectionId(rand::random());
        let inbox = Self::new(id, id, user, visitor, UserConnections { connections, alone: 1 }, notifier);
        inbox.renewed(token);
        inbox
    }

    /// The inbox of a request, made on behalf of `origin`; `connections` counts those of its user.
    pub fn of_request(
        user: UserId,
        origin: Option<ConnectionId>,
        visitor: Visitor,
        connections: Arc<AtomicUsize>,
        notifier: Notifier,
    ) -> Arc<Self> {
        let id = ConnectionId(rand::random());
        Self::new(id, origin.unwrap_or(id), user, visitor, UserConnections { connections, alone: 0 }, notifier)
    }

    fn new(
        id: ConnectionId,
        origin: ConnectionId,
        user: UserId,
        visitor: Visitor,
        others: UserConnections,
        notifier: Notifier,
    ) -> Arc<Self> {
        Arc::new(Inbox { id, origin, user, visitor, others, notifier, content: Mutex::default() })
    }

    /// Whether the user has other connections here, as far as a look without a lock can tell.
    pub fn has_others(&self) -> bool {
        self.others.connections.load(Ordering::Relaxed) > self.others.alone
    }

    /// The connection goes by another token from now on.
    pub fn renewed(&self, token: TokenMark) {
        self.lock().token = token;
    }

    /// The connection is welcomed.
    pub fn welcomed(&self, client: Client) {
        self.lock().client = Some(Box::new(client));
    }

    /// The client has another name for its device.
    pub fn renamed(&self, device: Arc<str>) {
        if let Some(client) = &mut self.lock().client {
            client.device = device;
        }
    }

    pub fn client(&self) -> Option<Client> {
        self.lock().client.as_deref().cloned()
    }

    /// Looks at the token the connection goes by.
    pub fn token<T>(&self, look: impl FnOnce(&TokenMark) -> T) -> T {
        look(&self.lock().token)
    }

    pub fn take(&self, now: Instant) -> InboxBatch {
        let mut waiting = self.lock();
        waiting.notified = false;
        let (pushes, next_push) = match &mut waiting.pushes {
            None => (Vec::new(), None),
            Some(pushes) => (pushes.take_due(now), pushes.next_due()),
        };
        waiting.pushes.take_if(|pushes| pushes.is_empty());
        InboxBatch {
            slots: std::mem::take(&mut waiting.slots),
            urgent: std::mem::take(&mut waiting.urgent),
            rejected: std::mem::take(&mut waiting.rejected),
            news: waiting.news.take(),
            order: waiting.order.take(),
            pushes,
            next_push,
            close_request: waiting.close_request,
            commit_held: waiting.reads.is_some(),
            record_changed: std::mem::take(&mut waiting.record_changed),
        }
    }

    /// A request on behalf of the connection is about to change something of which it is not told.
    pub fn record_changes(&self) {
        let mut waiting = self.lock();
        waiting.record_changed = true;
        if waiting.holds {
            self.notify(waiting);
        }
    }

    /// The connection holds a slot that it has not submitted yet. All older ones are answered.
    pub fn holds(&self) {
        self.lock().holds = true;
    }

    /// Has the connection commit what it holds. What is returned ends with the answer to it; `None`: it holds nothing.
    pub fn commit_held(&self) -> Option<oneshot::Receiver<()>> {
        let mut waiting = self.lock();
        if !waiting.holds {
            return None;
        }
        let (sender, committed) = oneshot::channel();
        let reads = waiting.reads.get_or_insert_default();
        // Of reads that have given up.
        reads.retain(|read| !read.is_closed());
        reads.push(sender);
        self.notify(waiting);
        Some(committed)
    }

    /// Leaves the answer to the oldest slot that is not answered yet: its beats that were `rejected`. `steady`: it may
    /// be told late.
    pub fn answer_slot(&self, rejected: impl IntoIterator<Item = Rejected>, steady: bool) {
        let mut waiting = self.lock();
        // Slots are answered in their order, and an ack says all that is before it.
        if waiting.unanswerable {
            return;
        }
        waiting.slots += 1;
        waiting.holds = false;
        waiting.reads = None;
        waiting.urgent |= !steady;
        waiting.rejected.extend(rejected);
        if !steady || !waiting.patient {
            self.notify(waiting);
        }
    }

    /// Leaves what the owner is to know beside the next answer.
    pub fn leave_news(&self, news: RewardNotice) {
        self.lock().news.get_or_insert_default().add(news);
    }

    /// The same without an answer.
    pub fn bring_news(&self, news: RewardNotice) {
        let mut waiting = self.lock();
        waiting.news.get_or_insert_default().add(news);
        self.notify(waiting);
    }

    /// Whether the owner looks of its own accord in time for steady answers.
    pub fn be_patient(&self, patient: bool) {
        let mut waiting = self.lock();
        waiting.patient = patient;
        if !patient && waiting.slots > 0 {
            self.notify(waiting);
        }
    }

    /// Leaves the answer to the order that was placed.
    pub fn answer_order(&self, outcome: Outcome) {
        let mut waiting = self.lock();
        waiting.order = Some(Box::new(outcome));
        self.notify(waiting);
    }

    /// Leaves a record that another device wrote, of which the latest is to be told by `due`; `None`: at once.
    pub fn push_record(&self, record: &Record, due: Option<Instant>) {
        self.leave(|pushes| {
            // A connection with a steady record waiting looks again when that is due.
            let looks_anyway = due.is_some() && !pushes.is_empty();
            pushes.record(record.clone(), due).map(|()| !looks_anyway)
        });
    }

    /// Leaves a record that comes too late to be told, for the sake of what waits in its place.
    pub fn push_late_record(&self, record: &Record, due: Option<Instant>) {
        let mut waiting = self.lock();
        if waiting.pushes.as_mut().is_some_and(|pushes| pushes.late_record(record.clone(), due)) {
            self.notify(waiting);
        }
    }

    /// Leaves a forgetting or a switch of another device.
    pub fn push(&self, push: Push) {
        self.leave(|pushes| pushes.forgetting(push).map(|()| true));
    }

    /// Tells the connection to go. The first reason stands.
    pub fn dismiss(&self, close_request: CloseRequest) {
        let mut waiting = self.lock();
        waiting.close_request.get_or_insert(close_request);
        self.notify(waiting);
    }

    /// A slot cannot be answered, and so none after it: the connection must go.
    pub fn cannot_answer(&self) {
        let mut waiting = self.lock();
        (waiting.unanswerable, waiting.holds, waiting.reads) = (true, false, None);
        drop(waiting);
        self.dismiss(CloseRequest::Unreadable);
    }

    /// `push` says whether the owner has to look now.
    fn leave(&self, push: impl FnOnce(&mut Pushes) -> Result<bool, Overflow>) {
        let mut waiting = self.lock();
        if waiting.close_request.is_some() {
            return;
        }
        let look = push(waiting.pushes.get_or_insert_default()).unwrap_or_else(|Overflow| {
            waiting.close_request = Some(CloseRequest::TooSlow);
            true
        });
        if look {
            self.notify(waiting);
        }
    }

    fn notify(&self, mut waiting: MutexGuard<'_, Waiting>) {
        let again = std::mem::replace(&mut waiting.notified, true);
        drop(waiting);
        if !again {
            self.notifier.notify();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.content.lock()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn inbox(user: UserId) -> Arc<Inbox> {
        Inbox::of_request(user, None, Visitor::default(), Arc::default(), Notifier::Own(Arc::default()))
    }
}
