//! The way of one thread's beats to the committer and back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use super::coalesce::{Entry, Slot, Slots};
use super::source::Source;
use crate::domain::devices::inbox::{BeatRef, Inbox, Rejected};
use crate::domain::rewards::reward_notice::RewardNotice;
use crate::model::beat::Beat;
use crate::model::change::{Action, Outcome};
use crate::model::rule::{Reason, Verdict};

/// An entry and what became of it.
#[derive(Debug)]
pub struct Completion {
    pub entry: Entry,
    pub outcome: Outcome,
    /// What else its sender is to know.
    pub news: Option<Box<RewardNotice>>,
}

impl Completion {
    fn deliver(self) {
        let Completion { entry, outcome, news } = self;
        let rewarded = news.as_ref().is_some_and(|news| !news.claims.is_empty());
        if let Some(news) = news {
            entry.inbox().leave_news(*news);
        }
        match (entry, outcome) {
            (Entry::Slot(slot), Outcome::Beat { verdict, skipped }) => {
                let steady = skipped == 0 && verdict.is_steady(&slot.beat) && !rewarded;
                let skip = |back| Rejected { place: slot.place(back), reason: Reason::NotRecording, record: None };
                let decided = match verdict {
                    Verdict::Rejected { reason, record } => {
                        Some(Rejected { place: slot.place(skipped), reason, record })
                    }
                    Verdict::Written { .. } | Verdict::Same => None,
                };
                slot.inbox.answer_slot(decided.into_iter().chain((0..skipped).rev().map(skip)), steady);
            }
            (Entry::Slot(slot), Outcome::Unreadable { .. }) => slot.inbox.cannot_answer(),
            (Entry::Slot(slot), _) => slot.inbox.answer_slot(None, false),
            (Entry::Order { inbox, .. }, outcome) => inbox.answer_order(outcome),
        }
    }
}

/// Where the connections of one thread and lane leave their beats.
///
/// Its lock is shared with the committer alone, which takes it once a group for as long as moving a list takes; answers
/// come back once per group.
#[derive(Debug)]
pub struct SubmitQueue {
    slots: Mutex<Slots>,
    weight_max: usize,
    /// Entries that were taken and are not answered yet; the waiting ones are in `slots`.
    in_flight: AtomicUsize,
    /// Of those.
    weight_in_flight: AtomicUsize,
    answers: mpsc::UnboundedSender<Vec<Completion>>,
    /// Lists of answers that were handed out, empty again, for groups to come.
    spare: Mutex<Vec<Vec<Completion>>>,
    wake: Arc<Notify>,
    room: Notify,
    large_frame_permits: Arc<Semaphore>,
}

/// The turn of a long frame. The next one's, when it is dropped.
#[derive(Debug)]
pub struct LargeFramePermit {
    _permit: OwnedSemaphorePermit,
}

/// The other end of a [`SubmitQueue`]: hands the answers to the inboxes, on the submit queue's own thread.
pub struct Completions {
    submit_queue: Arc<SubmitQueue>,
    answers: mpsc::UnboundedReceiver<Vec<Completion>>,
}

impl SubmitQueue {
    /// Uncommitted beats and orders of one thread (about 250 bytes each, 100 for a beat that shares a slot), shared by
    /// its lanes. Beyond its share of it, the connections of a lane hold their frames back. It bounds the list of
    /// answers, too: a beat counts until it is answered.
    pub const WEIGHT_MAX: usize = 262_144;

    /// A frame of so many bytes, some 60 beats, is a long one.
    pub const LONG_FRAME_BYTES: usize = 8192;
    /// Long frames that may be decoded and unanswered at one time. Clients that reconnect with full outboxes wait for
    /// each other, in the order in which they came; other clients do not wait behind all of their beats.
    const LONG_FRAMES_MAX: usize = 1;
    /// Lists of answers that are kept. One is filled while the one before is emptied.
    const SPARE_MAX: usize = 2;

    /// `wake` wakes the committer. `weight_max`: so many beats and orders there may be before connections hold their
    /// frames back.
    pub fn new(wake: Arc<Notify>, weight_max: usize) -> (Arc<SubmitQueue>, Completions) {
        let (sender, answers) = mpsc::unbounded_channel();
        let submit_queue = Arc::new(SubmitQueue {
            slots: Mutex::default(),
            weight_max,
            in_flight: AtomicUsize::new(0),
            weight_in_flight: AtomicUsize::new(0),
            answers: sender,
            spare: Mutex::default(),
            wake,
            room: Notify::new(),
            large_frame_permits: Arc::new(Semaphore::new(Self::LONG_FRAMES_MAX)),
        });
        (submit_queue.clone(), Completions { submit_queue, answers })
    }

    /// Takes admitted beats of one frame, as (index, beat); returns how many slots they opened. The inbox gets that
    /// many answers, in the order in which the slots were opened.
    pub(super) fn submit(&self, source: &Source, beats: impl IntoIterator<Item = (u32, Beat)>) -> usize {
        let mut slots = self.lock();
        let first = slots.is_empty();
        let mut count = 0;
        for (index, beat) in beats {
            let Source { inbox, device, seq, read, flag, decisions } = *source;
            let place = BeatRef { seq, index };
            let known = decisions.of(beat.content, flag);
            count += usize::from(slots.add(Slot::new(inbox.clone(), device.clone(), beat, place, known, read)));
        }
        drop(slots);
        // Later entries are taken with the first.
        if first && count > 0 {
            self.wake.notify_one();
        }
        count
    }

    /// Takes a slot that was held. The inbox gets its answer.
    pub(super) fn submit_held(&self, slot: Slot) {
        let mut slots = self.lock();
        let first = slots.is_empty();
        let opened = slots.add(slot);
        drop(slots);
        debug_assert!(opened, "all older slots of the connection were answered");
        if first {
            self.wake.notify_one();
        }
    }

    /// Takes a forgetting or a switch. The inbox gets its outcome.
    pub fn order(&self, inbox: &Arc<Inbox>, action: Action) {
        self.lock().order(inbox.clone(), action);
        self.wake.notify_one();
    }

    /// Whether another frame may be submitted.
    pub fn has_room(&self) -> bool {
        self.lock().weight() + self.weight_in_flight.load(Ordering::Relaxed) < self.weight_max
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

    /// Entries that are not answered yet.
    pub fn len(&self) -> usize {
        self.lock().len() + self.in_flight.load(Ordering::Relaxed)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// For the committer: moves the oldest entries, at most `max`, to `group`.
    pub fn take_into(&self, group: &mut Vec<Entry>, max: usize) {
        let mut slots = self.lock();
        let before = group.len();
        let weight = slots.take_into(group, max);
        self.in_flight.fetch_add(group.len() - before, Ordering::Relaxed);
        self.weight_in_flight.fetch_add(weight, Ordering::Relaxed);
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

    fn spare(&self) -> MutexGuard<'_, Vec<Vec<Completion>>> {
        self.spare.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock()
    }
}

impl Completions {
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.answers.len()
    }

    /// Runs on the submit queue's thread for as long as it serves.
    pub async fn run(mut self) {
        while let Some(mut answered) = self.answers.recv().await {
            let count = answered.len();
            let weight: usize = answered.iter().map(|completion| completion.entry.weight()).sum();
            answered.drain(..).for_each(Completion::deliver);
            self.submit_queue.in_flight.fetch_sub(count, Ordering::Relaxed);
            self.submit_queue.weight_in_flight.fetch_sub(weight, Ordering::Relaxed);
            self.submit_queue.room.notify_waiters();
            let mut spare = self.submit_queue.spare();
            if spare.len() < SubmitQueue::SPARE_MAX {
                spare.push(answered);
            }
        }
    }
}
