//! The queue in which beats of one thread wait for the committer, and the way back of their answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use super::coalesce::{Entry, Slot};
use super::completion::Completion;
use super::deferred::{Deferred, Passed};
use super::hold_index::{HoldIndex, Holder};
use super::source::Source;
use super::user_trace::UserTrace;
use super::waiting_slots::WaitingSlots;
use crate::cold::ColdReader;
use crate::devices::inbox::{BeatRef, Inbox};
use model::beat::Beat;
use model::change::{Action, Outcome};
use model::cold::ColdContents;
use model::ids::ConnectionId;

/// The queue of the beats of one thread and lane.
///
/// The committer takes the lock once a group, for as long as moving a list takes, and hands answers back once a group.
/// Another thread takes the lock only to release a held slot.
#[derive(Debug)]
pub struct SubmitQueue {
    waiting: Mutex<WaitingSlots>,
    weight_max: usize,
    /// Entries that were taken and are not answered yet; the others are in `waiting`.
    in_flight: AtomicUsize,
    /// The weight of those entries.
    weight_in_flight: AtomicUsize,
    answers: mpsc::UnboundedSender<Vec<Completion>>,
    /// Lists of answers that were handed out, empty again, for groups to come.
    spare: Mutex<Vec<Vec<Completion>>>,
    wake: Arc<Notify>,
    room: Notify,
    large_frame_permits: Arc<Semaphore>,
    /// With `store.steady_hold`.
    holds: Option<Arc<HoldIndex>>,
    /// With a history store.
    cold: Option<Arc<ColdReader>>,
    pub(super) trace: UserTrace,
}

/// The result of submitting the beats of one frame.
#[derive(Debug, Default)]
pub(super) struct Submitted {
    /// The number of opened slots.
    pub slots: usize,
    /// Its only beat waits for later ones.
    pub held: bool,
}

/// The turn of a long frame. When it is dropped the next long frame has its turn.
#[derive(Debug)]
pub struct LargeFramePermit {
    _permit: OwnedSemaphorePermit,
}

/// The other end of a [`SubmitQueue`]: hands the answers to the inboxes, on the submit queue's own thread.
pub struct Completions {
    submit_queue: Arc<SubmitQueue>,
    answers: mpsc::UnboundedReceiver<Vec<Completion>>,
    deferred: Deferred,
}

impl SubmitQueue {
    /// Uncommitted beats and orders of one thread (about 250 bytes each, 100 for a beat that shares a slot), divided
    /// among its lanes. When a lane has used its share, connections hold their frames back. The list of answers is
    /// bounded by it, too: a beat counts until it is answered.
    pub const WEIGHT_MAX: usize = 262_144;

    /// A frame of this length, some 60 beats, counts as long.
    pub const LONG_FRAME_BYTES: usize = 8192;
    /// Long frames that may be decoded and unanswered at one time. Clients that reconnect with full outboxes wait for
    /// each other, in the order in which they came; other clients do not wait behind all of their beats.
    const LONG_FRAMES_MAX: usize = 1;
    /// Lists of answers that are kept. One is filled while the one before is emptied.
    const SPARE_MAX: usize = 2;

    /// `wake` wakes the committer. `weight_max`: the number of beats and orders from which connections hold their frames
    /// back. With `holds`, as many beats may be held in addition.
    pub fn new(
        wake: Arc<Notify>,
        weight_max: usize,
        holds: Option<Arc<HoldIndex>>,
        cold: Option<Arc<ColdReader>>,
        trace: UserTrace,
    ) -> (Arc<SubmitQueue>, Completions) {
        let (sender, answers) = mpsc::unbounded_channel();
        let submit_queue = Arc::new(SubmitQueue {
            waiting: Mutex::default(),
            weight_max,
            in_flight: AtomicUsize::new(0),
            weight_in_flight: AtomicUsize::new(0),
            answers: sender,
            spare: Mutex::default(),
            wake,
            room: Notify::new(),
            large_frame_permits: Arc::new(Semaphore::new(Self::LONG_FRAMES_MAX)),
            holds,
            cold,
            trace,
        });
        (submit_queue.clone(), Completions { submit_queue, answers, deferred: Deferred::default() })
    }

    /// Takes admitted beats of one frame, as (index, beat). The inbox gets an answer for each slot that they open, in
    /// the order in which the slots were opened.
    pub(super) fn submit(self: &Arc<Self>, source: &Source, beats: impl IntoIterator<Item = (u32, Beat)>) -> Submitted {
        let Source { inbox, device, seq, read, flag, decisions, misnamed: _, hold_until } = *source;
        let slot = |index, beat: Beat| {
            let known = decisions.of(beat.content, flag);
            Slot::new(inbox.clone(), device.clone(), beat, BeatRef { seq, index }, known, read)
        };
        self.change(|waiting| {
            let (mut submitted, mut last) = (Submitted::default(), None);
            for (index, beat) in beats {
                let slot = slot(index, beat);
                last = Some(beat);
                let room = || self.has_room_beside(waiting.slots.weight() + waiting.held_weight());
                match hold_until {
                    Some(until) if waiting.may_hold(&slot) && room() => {
                        submitted = Submitted { slots: waiting.hold(slot, until), held: true };
                    }
                    _ => submitted.slots += usize::from(waiting.add(slot)),
                }
            }
            let Some(holds) = &self.holds else { return submitted };
            match submitted {
                Submitted { held: true, slots: 0 } => {}
                Submitted { held: true, .. } => holds.begins(inbox, self.clone()),
                Submitted { held: false, slots: opened } => {
                    // When there was no beat, nothing has released it yet.
                    waiting.release(inbox.id);
                    waiting.submitted(inbox, opened, last.filter(|_| hold_until.is_some()));
                }
            }
            submitted
        })
    }

    /// Takes an operation that is not a beat. The inbox gets its outcome.
    pub fn order(&self, inbox: &Arc<Inbox>, action: Action) {
        self.change(|waiting| waiting.order(inbox.clone(), action));
    }

    /// Commits the slot that the connection holds, if there is one.
    pub fn release(&self, connection: ConnectionId) {
        if self.holds.is_some() {
            Holder::release(self, connection);
        }
    }

    /// Removes a connection that has ended, and commits its held slot.
    pub fn leave(&self, connection: ConnectionId) {
        self.change(|waiting| waiting.leave(connection));
    }

    /// Whether another frame may be submitted. Held beats do not count, since they may wait for long without any fault
    /// of the store.
    pub fn has_room(&self) -> bool {
        self.has_room_beside(self.lock().slots.weight())
    }

    fn has_room_beside(&self, weight: usize) -> bool {
        weight + self.weight_in_flight.load(Ordering::Relaxed) < self.weight_max
    }

    /// Waits for a commit, after which there may be room.
    pub async fn room(&self) {
        self.room.notified().await;
    }

    /// The turn of a long frame, if none waits for it.
    pub fn try_large_frame_permit(&self) -> Option<LargeFramePermit> {
        self.large_frame_permits.clone().try_acquire_owned().ok().map(|permit| LargeFramePermit { _permit: permit })
    }

    /// Waits for the turn of a long frame; first come, first served. Cancel-safe, but the place in the queue is lost.
    pub fn large_frame_permit(&self) -> impl Future<Output = LargeFramePermit> + use<> {
        let large_frame_permits = self.large_frame_permits.clone();
        async move { LargeFramePermit { _permit: large_frame_permits.acquire_owned().await.expect("it is never closed") } }
    }

    /// The number of unanswered entries, without held ones.
    pub fn len(&self) -> usize {
        self.lock().slots.len() + self.in_flight.load(Ordering::Relaxed)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of held beats.
    pub fn held(&self) -> usize {
        self.lock().held_weight()
    }

    /// For the committer: moves the oldest entries, at most `max`, to `group`. Returns when the next hold ends; the
    /// committer is not woken for that.
    pub fn take_into(&self, group: &mut Vec<Entry>, max: usize, now: Instant) -> Option<Instant> {
        let mut waiting = self.lock();
        let before = group.len();
        let weight = waiting.take_into(group, max, now);
        self.in_flight.fetch_add(group.len() - before, Ordering::Relaxed);
        self.weight_in_flight.fetch_add(weight, Ordering::Relaxed);
        waiting.next_end()
    }

    /// For the committer: a list for answers, empty.
    pub(super) fn list(&self) -> Vec<Completion> {
        self.spare().pop().unwrap_or_default()
    }

    /// For the committer: this submit queue's entries of a group, in the order in which they were taken.
    pub fn answer(&self, answered: Vec<Completion>) {
        // The receiver is gone only when the submit queue's thread has stopped, and its connections with it.
        let _ = self.answers.send(answered);
    }

    /// Hands answers to the inboxes.
    fn deliver(self: &Arc<Self>, mut answered: Vec<Completion>, deferred: &mut Deferred) {
        self.learn(&answered);
        answered.iter().for_each(|completion| self.trace.answered(&completion.entry, &completion.outcome));
        let count = answered.len();
        let weight: usize = answered.iter().map(|completion| completion.entry.weight()).sum();
        if deferred.is_idle(&answered) {
            answered.drain(..).for_each(Completion::deliver);
        } else {
            answered.drain(..).for_each(|completion| self.pass(completion, deferred));
        }
        self.in_flight.fetch_sub(count, Ordering::Relaxed);
        self.weight_in_flight.fetch_sub(weight, Ordering::Relaxed);
        self.room.notify_waiters();
        let mut spare = self.spare();
        if spare.len() < Self::SPARE_MAX {
            spare.push(answered);
        }
    }

    /// Hands out the answers that are due now, and reads what others wait for.
    fn pass(self: &Arc<Self>, completion: Completion, deferred: &mut Deferred) {
        match deferred.pass(completion) {
            Passed::Answered(answered) => answered.into_iter().for_each(Completion::deliver),
            Passed::Kept => {}
            Passed::Cold(entry, wanted) => match &self.cold {
                Some(cold) => drop(tokio::spawn(self.clone().submit_again(cold.clone(), entry, wanted))),
                None => Self::refuse(entry, "rows of the user are in a history store that is not configured"),
            },
            Passed::TooMany(entry) => Self::refuse(entry, "too many beats wait for the history store"),
        }
    }

    /// Submits an entry again once the history store was read, however long that takes.
    async fn submit_again(self: Arc<Self>, cold: Arc<ColdReader>, mut entry: Entry, wanted: Box<ColdContents>) {
        cold.metrics.late_changes.inc();
        entry.warm(cold.rows(entry.inbox().user, &wanted).await);
        cold.metrics.late_changes.dec();
        self.change(|waiting| waiting.slots.add_again(entry));
    }

    fn refuse(entry: Entry, why: &str) {
        Completion { entry, outcome: Outcome::Unreadable { why: Arc::from(why) }, news: None }.deliver();
    }

    /// Learns from the answers which next beats are steady, and releases held slots of users whose records have
    /// changed.
    fn learn(&self, answered: &[Completion]) {
        let Some(holds) = &self.holds else { return };
        let mut waiting = self.lock();
        for Completion { entry, outcome, .. } in answered {
            if let Entry::Slot(slot) = entry
                && !matches!(outcome, Outcome::Cold(_))
                && waiting.answered(slot.inbox.id, outcome)
            {
                holds.ends(&slot.inbox);
            }
        }
        drop(waiting);
        for inbox in answered.iter().filter(|done| done.outcome.is_change()).map(|done| done.entry.inbox()) {
            inbox.user_changed();
            // Not waited for.
            drop(holds.commit(inbox.user));
        }
    }

    /// Applies a change. Wakes the committer if an entry is the first or a hold ends earlier than all others: it takes
    /// later ones with these.
    fn change<T>(&self, change: impl FnOnce(&mut WaitingSlots) -> T) -> T {
        let mut waiting = self.lock();
        let (was_empty, end) = (waiting.slots.is_empty(), waiting.next_end());
        let changed = change(&mut waiting);
        let is_earlier = waiting.next_end().is_some_and(|next| end.is_none_or(|end| next < end));
        let wakes = is_earlier || (was_empty && !waiting.slots.is_empty());
        drop(waiting);
        if wakes {
            self.wake.notify_one();
        }
        changed
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Vec<Completion>>> {
        self.spare.lock()
    }

    fn lock(&self) -> MutexGuard<'_, WaitingSlots> {
        self.waiting.lock()
    }
}

impl Holder for SubmitQueue {
    fn release(&self, connection: ConnectionId) {
        self.change(|waiting| waiting.release(connection));
    }
}

impl Completions {
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.answers.len()
    }

    /// Runs on the submit queue's thread for as long as it serves.
    pub async fn run(mut self) {
        while let Some(answered) = self.answers.recv().await {
            self.submit_queue.deliver(answered, &mut self.deferred);
        }
    }
}

#[cfg(test)]
#[path = "submit_queue_tests.rs"]
pub(super) mod tests;
