//! The way of one thread's beats to the committer and back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use super::coalesce::{Entry, Slot, Slots};
use super::source::Source;
use crate::domain::devices::mailbox::{Mailbox, Place, Rejected};
use crate::domain::rewards::news::News;
use crate::model::beat::Beat;
use crate::model::change::{Action, Outcome};
use crate::model::rule::Verdict;

/// An entry and what became of it.
#[derive(Debug)]
pub struct Answered {
    pub entry: Entry,
    pub outcome: Outcome,
    /// What else its sender is to know.
    pub news: Option<Box<News>>,
    /// The user may be connected to other gateways, too.
    pub elsewhere: bool,
}

impl Answered {
    fn deliver(self) {
        let Answered { entry, outcome, news, .. } = self;
        let rewarded = news.as_ref().is_some_and(|news| !news.claims.is_empty());
        if let Some(news) = news {
            entry.mailbox().leave_news(*news);
        }
        match (entry, outcome) {
            (Entry::Slot(slot), Outcome::Beat(Verdict::Rejected { reason, record })) => {
                slot.mailbox.answer_slot(Some(Rejected { place: slot.place, reason, record }), false);
            }
            (Entry::Slot(slot), Outcome::Beat(verdict)) => {
                slot.mailbox.answer_slot(None, verdict.is_steady(&slot.beat) && !rewarded);
            }
            (Entry::Slot(slot), _) => slot.mailbox.answer_slot(None, false),
            (Entry::Order { mailbox, .. }, outcome) => mailbox.answer_order(outcome),
        }
    }
}

/// Where the connections of one thread leave their beats.
///
/// Its lock is shared with the committer alone, which takes it once a group for as long as moving a list takes; answers
/// come back once per group.
#[derive(Debug)]
pub struct Lane {
    slots: Mutex<Slots>,
    /// Taken and not yet answered; the waiting ones are in `slots`.
    in_flight: AtomicUsize,
    answers: mpsc::UnboundedSender<Vec<Answered>>,
    /// Lists of answers that were handed out, empty again, for groups to come.
    spare: Mutex<Vec<Vec<Answered>>>,
    bell: Arc<Notify>,
    room: Notify,
    turns: Arc<Semaphore>,
}

/// The turn of a long frame. The next one's, when it is dropped.
#[derive(Debug)]
pub struct Turn {
    _permit: OwnedSemaphorePermit,
}

/// The other end of a [`Lane`]: hands the answers to the mailboxes, on the lane's own thread.
pub struct Returns {
    lane: Arc<Lane>,
    answers: mpsc::UnboundedReceiver<Vec<Answered>>,
}

impl Lane {
    /// Uncommitted entries of one thread (about 200 bytes each). Beyond it, connections hold their frames back.
    /// It bounds the list of answers, too: an entry counts until it is answered.
    pub const SLOTS_MAX: usize = 262_144;

    /// A frame of so many bytes, some 60 beats, is a long one.
    pub const LONG_FRAME_BYTES: usize = 8192;
    /// Long frames that may be decoded and not answered at one time. Those who come back with full outboxes wait for each
    /// other, in the order in which they came, and not everybody else behind the beats of all of them.
    const LONG_FRAMES_MAX: usize = 1;
    /// Lists of answers that are kept. One is filled while the one before is emptied.
    const SPARE_MAX: usize = 2;

    /// `bell` wakes the committer.
    pub fn new(bell: Arc<Notify>) -> (Arc<Lane>, Returns) {
        let (sender, answers) = mpsc::unbounded_channel();
        let lane = Arc::new(Lane {
            slots: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            answers: sender,
            spare: Mutex::default(),
            bell,
            room: Notify::new(),
            turns: Arc::new(Semaphore::new(Self::LONG_FRAMES_MAX)),
        });
        (lane.clone(), Returns { lane, answers })
    }

    /// Takes admitted beats of one frame, as (index, beat); returns how many slots they opened. The mailbox gets that many
    /// answers, in the order in which the slots were opened.
    pub(super) fn submit(&self, source: &Source, beats: impl IntoIterator<Item = (u32, Beat)>) -> usize {
        let mut slots = self.lock();
        let first = slots.is_empty();
        let mut count = 0;
        for (index, beat) in beats {
            let Source { mailbox, device, seq, read, flag, decisions } = *source;
            let place = Place { seq, index };
            let known = decisions.of(beat.content, flag);
            count += usize::from(slots.add(Slot::new(mailbox.clone(), device.clone(), beat, place, known, read)));
        }
        drop(slots);
        // Those who come later are taken with the first.
        if first && count > 0 {
            self.bell.notify_one();
        }
        count
    }

    /// Takes a forgetting or a switch. The mailbox gets its outcome.
    pub fn order(&self, mailbox: &Arc<Mailbox>, action: Action) {
        self.lock().order(mailbox.clone(), action);
        self.bell.notify_one();
    }

    /// Whether another frame may be submitted.
    pub fn has_room(&self) -> bool {
        self.len() < Self::SLOTS_MAX
    }

    /// Waits for a commit, after which there may be room.
    pub async fn room(&self) {
        self.room.notified().await;
    }

    /// The turn of a long frame, if none waits for it.
    pub fn try_turn(&self) -> Option<Turn> {
        self.turns.clone().try_acquire_owned().ok().map(|permit| Turn { _permit: permit })
    }

    /// Waits for the turn of a long frame; first come, first served. Cancel-safe, but the place in the queue is lost.
    pub fn turn(&self) -> impl Future<Output = Turn> + use<> {
        let turns = self.turns.clone();
        async move { Turn { _permit: turns.acquire_owned().await.expect("it is never closed") } }
    }

    /// Entries that are not answered yet.
    pub fn len(&self) -> usize {
        self.lock().len() + self.in_flight.load(Ordering::Relaxed)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// For the committer: moves the oldest entries, at most `max`, to `group`.
    pub(super) fn take_into(&self, group: &mut Vec<Entry>, max: usize) {
        let mut slots = self.lock();
        let before = group.len();
        slots.take_into(group, max);
        self.in_flight.fetch_add(group.len() - before, Ordering::Relaxed);
    }

    /// For the committer: a list for answers, empty.
    pub(super) fn list(&self) -> Vec<Answered> {
        self.spare().pop().unwrap_or_default()
    }

    /// For the committer: this lane's entries of a group, in the order in which they were taken.
    pub(super) fn answer(&self, answered: Vec<Answered>) {
        // The receiver is gone only when the lane's thread has stopped, and its connections with it.
        let _ = self.answers.send(answered);
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Vec<Answered>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing that could panic runs under the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Returns {
    /// Runs on the lane's thread for as long as it serves.
    pub async fn run(mut self) {
        while let Some(mut answered) = self.answers.recv().await {
            let count = answered.len();
            answered.drain(..).for_each(Answered::deliver);
            self.lane.in_flight.fetch_sub(count, Ordering::Relaxed);
            self.lane.room.notify_waiters();
            let mut spare = self.lane.spare();
            if spare.len() < Lane::SPARE_MAX {
                spare.push(answered);
            }
        }
    }
}
