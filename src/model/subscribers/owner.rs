//! A subscriber as it is now, with its queue: an *owner*.

use std::sync::Arc;
use std::time::Duration;

use super::id::SubscriberId;
use super::status::Status;
use super::subscriber::Subscriber;

/// The version of one owner; it goes on over a deletion.
pub type Version = u64;
/// The number of one entry in the queue of an owner.
pub type Number = u64;

/// An owner as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Owner {
    pub id: SubscriberId,
    pub subscriber: Arc<Subscriber>,
    /// The version with which it was made. It is of this owner alone, not of one of the same id before or after it.
    pub incarnation: Version,
    pub version: Version,
    pub status: Status,
    /// Events that are queued.
    pub depth: u64,
    /// When the oldest of these was queued, milliseconds since 1970.
    pub oldest: Option<u64>,
    /// Until the next try, of an owner that is failing; zero if it is due.
    pub next_try: Option<Duration>,
    /// Events that were delivered since it was made.
    pub delivered: u64,
    /// Events in the dead letters.
    pub dead: u64,
    /// Whether the queue is being filled from the log.
    pub replaying: bool,
}

/// There is a record of a subscriber, and this version cannot read it. It can be replaced or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record of this subscriber cannot be read by this version; replace it or delete it")]
pub struct Unreadable;

/// An event that was not delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dead {
    pub number: Number,
    pub event: Arc<str>,
    pub reason: DeadReason,
    /// When it was given up, milliseconds since 1970.
    pub at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadReason {
    QueueFull,
    TooOld,
}

impl DeadReason {
    /// Its word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            DeadReason::QueueFull => "queue_full",
            DeadReason::TooOld => "too_old",
        }
    }
}
