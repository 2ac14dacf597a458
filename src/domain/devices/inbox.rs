//! The inbox of one connection: answers, pushes and close requests from the rest of the gateway.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

use super::pushes::{Overflow, Pushes};
use super::ready_list::Notifier;
use super::user_counts::UserCounts;
use crate::devices::client::Client;
use model::change::Outcome;
use model::ids::{ConnectionId, GatewayId, UserId};
use model::push::Push;
use model::record::Record;
use model::revocation::TokenMark;
use model::rewards::reward_notice::RewardNotice;
use model::rule::Reason;
use model::visitor::Visitor;

/// Any part may put something in; only the connection (or the HTTP request) that owns the inbox takes it out.
///
/// Answers are bounded by what the connection has submitted, pushes by [`Pushes::WAITING_MAX`].
#[derive(Debug)]
pub struct Inbox {
    /// The id of this inbox: beats of different inboxes never share a slot.
    pub id: ConnectionId,
    /// The connection that gets no push of changes made through this inbox.
    pub origin: ConnectionId,
    pub user: UserId,
    pub visitor: Visitor,
    /// The gateway without a store that sent the changes, if one did. It tells its own connections of them.
    pub gateway: Option<GatewayId>,
    counts: Arc<UserCounts>,
    /// 1 for a connection, which the counts include; 0 for a request.
    own_connections: u32,
    notifier: Notifier,
    content: Mutex<Waiting>,
}

/// Names a beat: its frame, and its index in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeatRef {
    pub seq: u32,
    pub index: u32,
}

/// A beat that the commit refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    pub beat_ref: BeatRef,
    pub reason: Reason,
    pub record: Option<Record>,
}

/// Why the connection must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseRequest {
    Kicked,
    /// A newer connection of the same user took its place.
    Replaced,
    /// More pushes wait for the connection than are kept.
    TooSlow,
    /// The user's stored state cannot be read, so what the connection has sent cannot be committed.
    Unreadable,
}

/// All that was put into the inbox since the last look.
#[derive(Debug, Default)]
pub struct InboxBatch {
    /// The number of answered slots, counted from the oldest.
    pub slots: usize,
    /// Whether one of these answers must be sent at once.
    pub urgent: bool,
    /// The beats that were written, if the owner [asked](Inbox::names_writes) for them.
    pub written: Vec<WrittenBeat>,
    pub rejected: Vec<Rejected>,
    pub news: Option<Box<RewardNotice>>,
    /// The answer to the order that was placed.
    pub order: Option<Box<Outcome>>,
    pub pushes: Vec<Push>,
    /// When to look again for pushes without a notification.
    pub next_push: Option<Instant>,
    pub close_request: Option<CloseRequest>,
}

/// Rare parts are boxed, since every connection keeps one of these.
#[derive(Debug, Default)]
struct Waiting {
    /// The mark of the connection's newest token; empty in a request.
    token: TokenMark,
    /// The client, from the welcome of a connection on; `None` in a request.
    client: Option<Box<Client>>,
    slots: usize,
    /// No slot will be answered any more.
    unanswerable: bool,
    urgent: bool,
    /// Whether the owner is not woken for answers that may be sent late.
    patient: bool,
    /// The owner was notified since it last looked.
    notified: bool,
    rejected: Vec<Rejected>,
    /// `None`: the owner does not ask which beats were written.
    written: Option<Box<WrittenBeats>>,
    news: Option<Box<RewardNotice>>,
    order: Option<Box<Outcome>>,
    pushes: Option<Box<Pushes>>,
    close_request: Option<CloseRequest>,
}

/// A beat that became the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenBeat {
    pub beat_ref: BeatRef,
    /// It merely moved the position on.
    pub steady: bool,
    /// The length that it did not know; see [`Verdict::Written`](model::rule::Verdict::Written).
    pub kept_dur: u64,
}

#[derive(Debug, Default)]
struct WrittenBeats(Vec<WrittenBeat>);

impl Inbox {
    /// The inbox of a connection, which `counts` includes.
    pub fn of_connection(
        user: UserId,
        token: TokenMark,
        visitor: Visitor,
        counts: Arc<UserCounts>,
        notifier: Notifier,
    ) -> Arc<Self> {
        let id = ConnectionId(rand::random());
        let inbox = Self::new((id, id), user, visitor, (counts, 1), notifier);
        inbox.renewed(token);
        Arc::new(inbox)
    }

    /// The inbox of a request, made on behalf of `origin`.
    pub fn of_request(
        user: UserId,
        origin: Option<ConnectionId>,
        visitor: Visitor,
        counts: Arc<UserCounts>,
        notifier: Notifier,
    ) -> Arc<Self> {
        let id = ConnectionId(rand::random());
        Arc::new(Self::new((id, origin.unwrap_or(id)), user, visitor, (counts, 0), notifier))
    }

    /// The inbox of changes that a gateway without a store sent for its connection `origin`.
    pub fn of_gateway(
        user: UserId,
        (gateway, origin): (GatewayId, ConnectionId),
        visitor: Visitor,
        counts: Arc<UserCounts>,
        notifier: Notifier,
    ) -> Arc<Self> {
        let ids = (ConnectionId(rand::random()), origin);
        Arc::new(Inbox { gateway: Some(gateway), ..Self::new(ids, user, visitor, (counts, 0), notifier) })
    }

    fn new(
        (id, origin): (ConnectionId, ConnectionId),
        user: UserId,
        visitor: Visitor,
        (counts, own_connections): (Arc<UserCounts>, u32),
        notifier: Notifier,
    ) -> Self {
        let (gateway, content) = (None, Mutex::default());
        Inbox { id, origin, user, visitor, gateway, counts, own_connections, notifier, content }
    }

    /// Whether the user has other connections here, as read without a lock.
    pub fn has_others(&self) -> bool {
        self.counts.connections() > self.own_connections
    }

    /// A counter that has changed if the user's records have changed by more than positions that move on.
    pub fn user_changes(&self) -> u32 {
        self.counts.changes()
    }

    /// Takes note that a change made through this inbox was committed.
    pub fn user_changed(&self) {
        self.counts.changed();
    }

    /// From now on answers name the beats that were written.
    pub fn names_writes(&self) {
        self.lock().written = Some(Box::default());
    }

    /// Replaces the token of the connection.
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

    /// Reads the token of the connection.
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
            written: waiting.written.as_mut().map(|written| std::mem::take(&mut written.0)).unwrap_or_default(),
            rejected: std::mem::take(&mut waiting.rejected),
            news: waiting.news.take(),
            order: waiting.order.take(),
            pushes,
            next_push,
            close_request: waiting.close_request,
        }
    }

    /// Leaves the answer to the oldest unanswered slot, with its `rejected` beats. `steady`: the answer may be sent
    /// late. `written`: the beat that became the record.
    pub fn answer_slot(
        &self,
        rejected: impl IntoIterator<Item = Rejected>,
        steady: bool,
        written: Option<WrittenBeat>,
    ) {
        let mut waiting = self.lock();
        // Slots are answered in their order, and an ack says all that is before it.
        if waiting.unanswerable {
            return;
        }
        if let Some(all) = &mut waiting.written {
            all.0.extend(written);
        }
        waiting.slots += 1;
        waiting.urgent |= !steady;
        waiting.rejected.extend(rejected);
        if !steady || !waiting.patient {
            self.notify(waiting);
        }
    }

    /// Leaves news that the owner reads together with the next answer.
    pub fn leave_news(&self, news: RewardNotice) {
        self.lock().news.get_or_insert_default().add(news);
    }

    /// Leaves news that the owner reads at once.
    pub fn bring_news(&self, news: RewardNotice) {
        let mut waiting = self.lock();
        waiting.news.get_or_insert_default().add(news);
        self.notify(waiting);
    }

    /// `patient`: the owner looks by itself in time for steady answers, and is not woken for them.
    pub fn defer_acks(&self, patient: bool) {
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

    /// Leaves a record that another device wrote; the latest one is pushed by `due`; `None`: at once.
    pub fn push_record(&self, record: &Record, due: Option<Instant>) {
        self.leave(|pushes| {
            // A connection with a steady record waiting looks again when that is due.
            let looks_anyway = due.is_some() && !pushes.is_empty();
            pushes.record(record.clone(), due).map(|()| !looks_anyway)
        });
    }

    /// Leaves a record that is older than one that was pushed. It is not pushed, but a waiting record of the
    /// same content may become due sooner.
    pub fn push_late_record(&self, record: &Record, due: Option<Instant>) {
        let mut waiting = self.lock();
        if waiting.pushes.as_mut().is_some_and(|pushes| pushes.late_record(record.clone(), due)) {
            self.notify(waiting);
        }
    }

    /// Leaves a delete, a clear or a switch of recording by another device.
    pub fn push(&self, push: Push) {
        self.leave(|pushes| pushes.forgetting(push).map(|()| true));
    }

    /// Asks the connection to close. The first reason stands.
    pub fn dismiss(&self, close_request: CloseRequest) {
        let mut waiting = self.lock();
        waiting.close_request.get_or_insert(close_request);
        self.notify(waiting);
    }

    /// A slot cannot be answered, and so no later one: the connection must be closed.
    pub fn cannot_answer(&self) {
        self.lock().unanswerable = true;
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
