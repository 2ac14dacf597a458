//! The entries that a change leaves in the outbox to be published.

use super::counters::crossing::Crossing;
use super::counters::{CounterId, CounterKey};
use super::ids::UserId;
use super::rewards::claim::Claim;
use super::shard::{Shard, Shards};

/// Something that happened, until its event is published. It is stored in one step with the change that made it happen.
#[derive(Clone, Debug, PartialEq)]
pub enum OutboxEntry {
    Claim(Claim),
    Crossing(Crossing),
}

/// The events of one partition are published in the order of their entries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OutboxPartition {
    User(UserId),
    Counter(CounterId, CounterKey),
}

impl OutboxEntry {
    pub fn partition(&self) -> OutboxPartition {
        match self {
            OutboxEntry::Claim(claim) => OutboxPartition::User(claim.key.user),
            OutboxEntry::Crossing(crossing) => OutboxPartition::Counter(crossing.counter.clone(), crossing.key.clone()),
        }
    }

    /// The shard in which it is stored, with what has changed.
    pub fn shard(&self) -> Shard {
        match self {
            OutboxEntry::Claim(claim) => Shards::DEFAULT.of(claim.key.user),
            OutboxEntry::Crossing(crossing) => Shards::DEFAULT.of_counter(&crossing.counter, &crossing.key),
        }
    }

    /// The claim, if it is one.
    pub fn into_claim(self) -> Option<Claim> {
        match self {
            OutboxEntry::Claim(claim) => Some(claim),
            OutboxEntry::Crossing(_) => None,
        }
    }

    /// The server's clock, milliseconds.
    pub fn made_at(&self) -> u64 {
        match self {
            OutboxEntry::Claim(claim) => claim.claimed_at,
            OutboxEntry::Crossing(crossing) => crossing.at,
        }
    }

    /// Sorts entries whose order is not known otherwise: by time, and those of one step by threshold.
    pub fn age_order(&self) -> (u64, i64) {
        let threshold = match self {
            OutboxEntry::Claim(_) => 0,
            OutboxEntry::Crossing(crossing) => crossing.threshold,
        };
        (self.made_at(), threshold)
    }
}
