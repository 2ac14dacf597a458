//! Owners' queues: what each subscriber (here an *owner*) is still to be told, in order.
//!
//! ```text
//! cascade: append ─▶ the owner's queue, and its id in the control queue, in one step
//! worker:  take   ─▶ the id that is due first; due moves on by a lease, the fence rises
//!          done   ─▶ under the fence: what was delivered goes, by name; the id is due again, or leaves
//! ```
//!
//! **The control queue** has the id of each active owner with events, once, with the time when it is due. Taking an id
//! only moves that time, so an id is never lost with its worker. A worker that lost its lease cannot change anything: the
//! fence has risen.
//!
//! **Lines.** An owner whose last try failed or was slow waits in a line of its own. Who takes leases says how many it wants
//! from there at most, so that others wait for none of them.
//!
//! **Numbers.** Each entry has a number. Numbers rise in a queue, and are never given again, also not to an owner that was
//! deleted and made again. What was delivered is removed up to a number, never by count.
//!
//! **Versions.** Each change by the API names the version that it was decided on, and raises it. Version and fence stay
//! when an owner is deleted.
//!
//! **Bounds.** A queue has at most [`Bounds::events`] events, [`Bounds::bytes`] bytes and none older than
//! [`Bounds::age`]. Beyond that the oldest go to the owner's dead letters, which have the same bounds on count and bytes;
//! beyond these the oldest are dropped, and counted.
//!
//! **Records that cannot be read**, of a newer version or damaged, are left out, logged once, and not touched, but for a
//! change that replaces or deletes the owner. No other owner notices.
//!
//! **Failure.** An error leaves the outcome unknown. Every call may be repeated: an append is recognised by its offset, a
//! `done` by its fence, a change by its version.

pub mod unreadable;

use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::event_bus::Offset;
use super::event_bus::part::{Offsets, Part};
use super::event_bus::source::Marks;
use super::store_error::{Answer, StoreError};
use model::subscribers::{State, Status, Subscriber, SubscriberId};

pub use model::subscribers::{Dead, DeadReason, Number, Owner, Unreadable, Version};

/// The number of one lease.
pub type Fence = u64;

/// The bounds of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub events: u64,
    /// Bytes of events. A single event is kept, however long it is.
    pub bytes: u64,
    pub age: Duration,
}

impl Bounds {
    /// Whether a queue with so many events of so many bytes has room for one of `more` bytes.
    pub fn have_room(&self, events: u64, bytes: u64, more: usize) -> bool {
        events < self.events && (events == 0 || bytes + more as u64 <= self.bytes)
    }
}

/// A change of an owner.
#[derive(Clone, Debug)]
pub enum Change {
    /// Makes the owner, or replaces its definition; what is queued stays. `failing` and `disabled` become active, and the
    /// owner is due at once; `paused` stays. A new owner gets what comes after `ends`, which were read before.
    Put { subscriber: Arc<Subscriber>, ends: Offsets },
    /// Replaces the definition, and nothing else.
    Redefine { subscriber: Arc<Subscriber> },
    /// The queue, its dead letters and the definition go.
    Delete,
    /// No new lease is given. One that was given goes on.
    Pause,
    /// It becomes active, from whatever state, and is due at once, or when a lease that was given ends.
    Resume,
    /// The queue is emptied, to be filled from after these offsets. What is appended meanwhile waits in the log.
    Replay { after: Offsets },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Changed {
    Done {
        version: Version,
        /// The owner did not exist before.
        made: bool,
        /// How long a lease that was given before the change still lasts: until then a try may begin.
        leased_for: Duration,
    },
    /// Someone else changed it: decide again on this version.
    Moved(Version),
    /// There is no such owner. `leased_for`: a lease from before it was deleted.
    Missing { leased_for: Duration },
}

/// An owner as the cascade knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscription {
    pub id: SubscriberId,
    pub incarnation: Version,
    pub version: Version,
    pub subscriber: Arc<Subscriber>,
    pub state: State,
}

/// The changes of subscriptions since a revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscriptions {
    /// To ask from the next time.
    pub revision: Revision,
    /// `None` = the owner was deleted, or cannot be read. One may come again though nothing changed.
    pub changed: Vec<(SubscriberId, Option<Subscription>)>,
}

/// How far the changes of subscriptions are known. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revision(pub Vec<Version>);

/// An event for an owner.
#[derive(Clone, Debug)]
pub struct Append {
    pub owner: SubscriberId,
    /// The incarnation of the subscription that wants the event.
    pub incarnation: Version,
    pub offset: Offset,
    /// The event as JSON.
    pub event: Arc<str>,
}

/// Events of one part, each with who wants it.
pub type Wanted = (Part, Vec<(Offset, Arc<str>, Arc<Subscription>)>);

/// The results of appends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    pub queued: u64,
    /// These were there already, or are from before their owner's time.
    pub old: u64,
    /// Their owners are gone, disabled, or wait for a replay that will bring them.
    pub left_out: u64,
    /// Events that went to the dead letters to make room.
    pub died: u64,
}

impl Totals {
    /// The owners that are active and not failing.
    pub fn active(&self) -> u64 {
        self.owners.saturating_sub(self.failing + self.paused + self.tries_used_up + self.disabled)
    }
}

impl Append {
    pub fn of((offset, event, wants): &(Offset, Arc<str>, Arc<Subscription>)) -> Self {
        Append { owner: wants.id.clone(), incarnation: wants.incarnation, offset: *offset, event: event.clone() }
    }
}

impl AddAssign for Appended {
    fn add_assign(&mut self, Appended { queued, old, left_out, died }: Appended) {
        self.queued += queued;
        self.old += old;
        self.left_out += left_out;
        self.died += died;
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub number: Number,
    /// When it was queued, milliseconds since 1970.
    pub queued_at: u64,
    pub event: Arc<str>,
}

/// Where an owner waits until it is leased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Line {
    #[default]
    Quick,
    /// Its last try failed or was slow.
    Slow,
}

/// Leases that a call may give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The most owners of both lines together.
    pub all: usize,
    /// The most owners of the slow line.
    pub slow: usize,
}

impl Limit {
    /// A limit for owners of either line.
    pub fn of(all: usize) -> Self {
        Limit { all, slow: all }
    }
}

/// A lease on an owner's queue.
#[derive(Clone, Debug)]
pub struct Taken {
    pub owner: SubscriberId,
    /// In which it has waited.
    pub line: Line,
    pub subscriber: Arc<Subscriber>,
    pub status: Status,
    pub fence: Fence,
    /// The oldest of the queue, at least one: at most [`ENTRIES_MAX`] and not many more bytes than [`BYTES_MAX`].
    pub entries: Vec<Entry>,
}

/// Entries of one lease.
pub const ENTRIES_MAX: usize = 100;
/// Bytes of the entries of one lease; the first comes however long it is.
pub const BYTES_MAX: usize = 1 << 20;

/// The leases that were due, and when there is more to do.
#[derive(Clone, Debug, Default)]
pub struct Due {
    pub taken: Vec<Taken>,
    /// Until the next owner is due that the limit lets through, if one is in the control queue.
    pub next: Option<Duration>,
}

/// Leases that a call may give beside what it does.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    pub leases: usize,
    pub lease: Duration,
}

/// The leases that a call leaves to workers.
#[derive(Clone, Debug, Default)]
pub struct Given {
    pub taken: Vec<Taken>,
    /// Owners may be due that are not among these.
    pub is_due: bool,
}

/// How a lease ends.
#[derive(Clone, Debug)]
pub struct Done {
    /// Everything up to this number was delivered.
    pub delivered_to: Option<Number>,
    /// Events that these were.
    pub delivered: u64,
    pub status: Status,
    /// A try took long, whatever came of it.
    pub slow: bool,
    /// Until the owner is due again, if it is active and has more.
    pub pause: Duration,
}

impl Done {
    /// Where the owner waits from now on.
    pub fn line(&self) -> Line {
        if self.slow || self.status.failing.is_some() { Line::Slow } else { Line::Quick }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Done,
    /// The lease was over, and another was given, or the owner was deleted or its queue emptied: nothing was changed.
    Fenced,
}

/// A queue that is being filled from the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    pub owner: SubscriberId,
    pub subscriber: Arc<Subscriber>,
    pub version: Version,
    /// The offset of each part up to which the queue has its events.
    pub at: Offsets,
    /// Events that the queue has room for, and their bytes. An empty queue takes one however long it is.
    pub room: u64,
    pub room_bytes: u64,
}

/// Events for a queue that is being filled.
#[derive(Clone, Debug)]
pub struct Fill {
    pub owner: SubscriberId,
    pub version: Version,
    pub part: Part,
    /// The events are those that fit of the offsets after `at`, up to and including `to`.
    pub at: Offset,
    pub to: Offset,
    pub events: Vec<(Offset, Arc<str>)>,
    /// There was no more in the part when it was read.
    pub is_end: bool,
    /// All parts of the bus. The replay is over when each was read to its end, and to what was left out meanwhile.
    pub parts: Arc<[Part]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    More,
    /// There was no room for all of the events. Those that the queue has not taken wait in the log.
    Full,
    /// The queue has everything: appends are queued again.
    Over,
    /// The owner was changed or the queue has moved on: ask for the replay again.
    Moved,
}

/// Over all owners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub owners: u64,
    /// Active owners whose last try failed.
    pub failing: u64,
    /// Owners paused by a request, or for a reason that only a newer version knows.
    pub paused: u64,
    pub tries_used_up: u64,
    pub disabled: u64,
    /// When the one that has failed for the longest time began to, milliseconds since 1970.
    pub failing_since: Option<u64>,
    pub events: u64,
    pub bytes: u64,
    pub dead: u64,
    /// Events that have fallen out of the dead letters, ever.
    pub dropped: u64,
    /// How long the owner that is due first in the quick line has been due.
    pub waiting: Duration,
}

/// Keeps the queues. All methods may be called from any thread; all changes are durable when answered.
pub trait OwnerQueues: Marks {
    // For the API.

    /// The version of this id, 0 if it never had an owner, and the owner, if there is one.
    fn owner(&self, id: SubscriberId) -> Answer<(Version, Option<Result<Owner, Unreadable>>)>;

    /// In the order of their ids, those after `after` that can be read.
    fn owners(&self, after: Option<SubscriberId>, limit: usize) -> Answer<Vec<Owner>>;

    /// Done if the version is still this one.
    fn change(&self, id: SubscriberId, version: Version, change: Change) -> Answer<Changed>;

    /// The oldest dead letters after this number (0 = from the oldest), not many more bytes than [`BYTES_MAX`]; `None`
    /// if there is no such owner.
    fn dead(&self, id: SubscriberId, after: Number, limit: usize) -> Answer<Option<Vec<Dead>>>;

    /// Queues the oldest dead letters after everything else, as many as there is room for, at most
    /// [`RESENT_MAX`]. How many these were; `None` if there is no such owner.
    fn resend(&self, id: SubscriberId) -> Answer<Option<u64>>;

    /// When a cascade last looked at the event bus, milliseconds since 1970; `None`: none ever has.
    fn looked_at(&self) -> Answer<Option<u64>>;

    // For the cascade.

    /// Keeps when a cascade has looked at the event bus, in place of the time before. It may be lost with the process: the next
    /// look follows soon.
    fn keep_look(&self, at: u64) -> Answer<()>;

    /// The subscriptions changed since. Read after some events, it has every owner that was made before them.
    fn subscriptions(&self, since: Revision) -> Answer<Subscriptions>;

    /// Queues these events of one part, those of an owner in their order. An owner that is active is put into the control
    /// queue, unless it is there.
    fn append(&self, part: Part, events: Vec<Append>) -> Answer<Appended>;

    /// Like [`append`](Self::append), of several parts, each of them once. It may lease owners of the quick line that had
    /// nothing queued, as
    /// [`take`](Self::take) does; what was given counts though some of the appends have failed.
    fn append_and_take(
        &self,
        parts: Vec<Wanted>,
        offer: Offer,
    ) -> BoxFuture<'static, (Result<Appended, StoreError>, Given)>;

    // For workers.

    /// Leases owners that are due, the longest due first, within the limit. Each lease lasts for `lease` from when it is
    /// given; measured from before the call it is over no later.
    fn take(&self, limit: Limit, lease: Duration) -> Answer<Due>;

    /// Ends a lease, if it still is the last one of its owner.
    fn done(&self, owner: SubscriberId, fence: Fence, done: Done) -> Answer<Ended>;

    /// Like [`done`](Self::done). It may give the owner its next lease if it has more and waits in the quick line, unless
    /// `lease` is `None`.
    fn done_and_take(&self, owner: SubscriberId, fence: Fence, done: Done, lease: Option<Duration>) -> Answer<Given>;

    /// Gives up what is too old, of all queues. How many events these were.
    fn expire(&self) -> Answer<u64>;

    // For replays.

    /// The queues that are being filled.
    fn replays(&self) -> Answer<Vec<Replay>>;

    /// Queues as many of the events as there is room for. None goes to the dead letters.
    fn fill(&self, fill: Fill) -> Answer<Filled>;

    fn totals(&self) -> Answer<Totals>;
}

/// Dead letters that are queued again in one step.
pub const RESENT_MAX: u64 = 1_000;
