//! What a beat is committed to before its ack.
//!
//! A backend decides with the rules of [`crate::model::rule`] and nothing else, so that every backend gives the same
//! answers to the same changes.

pub mod config;
pub mod embedded;
pub mod optimistic;
pub mod redis;

use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::BoxFuture;

use crate::model::change::{Change, Decided, Outcome};
use crate::model::decide::Transitions;
use crate::model::ids::{Content, UserId};
use crate::model::page::{Page, PageRequest};
use crate::model::record::Record;
use crate::model::rewards::calendar::RewardDay;
use crate::model::rewards::claim::ClaimKey;
use crate::model::rewards::day::Day;
use crate::model::rewards::rewarding::Rewarding;
use crate::model::rewards::rule::RuleSet;
use crate::model::rows_read::RowsRead;
use crate::model::shard::Shard;

/// Changes that are committed together, all judged at the same moment.
#[derive(Debug)]
pub struct Group {
    /// Of this group alone in this process: by it a store knows a group that is committed again.
    pub number: u64,
    /// The server's clock, milliseconds: scripts and stores take their time from the gateway.
    pub now: u64,
    pub changes: Vec<Change>,
    pub rewards: Rewarding,
}

/// What became of a group.
#[derive(Debug, Default)]
pub struct Committed {
    /// One for each change, in the same order.
    pub outcomes: Vec<Outcome>,
    /// In the order of the changes.
    pub decided: Vec<Decided>,
    /// What was done to records, each with the change that it belongs to, in the order of the changes. A change is told of
    /// once, by whichever attempt has its outcome.
    pub transitions: Transitions,
    /// The changes, in their order, whose users may be connected to other gateways, too.
    pub elsewhere: Vec<usize>,
}

/// Days whose claims are kept, the newest included.
pub const CLAIM_DAYS: u16 = 3;

/// What a new connection has to know of its user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserStatus {
    /// Recording is paused.
    pub paused: bool,
    /// The ids of the rules per user that have rewarded the user on the day asked for.
    pub rewarded: Vec<String>,
}

/// Keeps, per user, a row of what was forgotten, one row per content, and the claims of the last days.
///
/// A written beat, not older than [`AGE_MS_MAX`](crate::model::rewards::credit::AGE_MS_MAX), that has watched the minimum
/// of a rule it asks for makes the claim, unless there is one of the same key or the outbox has no room. The claim and
/// its entry in the [`Outbox`](super::outbox::Outbox) are one atomic step with the record. Forgetting leaves claims as
/// they are; an erasure takes the user's along. They are kept for [`CLAIM_DAYS`].
///
/// An erasure leaves nothing of a user but the moment up to which everything stays away; what holds of a commit holds of
/// it, however many rows go. One that is committed again takes what was written since, too.
///
/// Reads see every commit that was answered before they were asked. They apply the user's forgetting and the retention
/// at `now` (server-clock milliseconds). All methods may be called from any thread.
pub trait HotStore: Send + Sync + 'static {
    /// Applies the changes in their order and says what became of each.
    ///
    /// *Atomic* per user: all that a change does is there or nothing is. *Durable*: once answered it survives the loss
    /// of the process and of the machine. *Repeatable*: after an error the same group may be committed again, whatever
    /// the first attempt did; what it had done already is answered with success. Dropping the future leaves the outcome
    /// unknown.
    fn commit<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Committed, StoreError>>;

    /// How many parts of the store may be away while the others serve: changes of users in different lanes are committed in
    /// groups of their own. Stays the same while the store is open.
    fn lanes(&self) -> usize {
        1
    }

    /// The lane of the shard's users, less than [`lanes`](Self::lanes); always the same. A group of any users may be committed
    /// in any lane: it only waits for more than it has to.
    fn lane(&self, _shard: Shard) -> usize {
        0
    }

    /// Whether the part of the store that has the shard is there, as far as is known without asking. Must not block.
    fn is_connected(&self, _shard: Shard) -> bool {
        true
    }

    /// How many groups of a lane may be committed side by side. They take effect in the order in which they were begun,
    /// unless one of them fails.
    fn groups_max(&self) -> usize {
        1
    }

    /// Why the store takes no commits any more, when it has noticed that by itself. Must not block: it is asked every
    /// second.
    fn failure(&self) -> Option<StoreError> {
        None
    }

    /// The live records of these contents, in the order asked.
    fn get(&self, user: UserId, contents: Vec<Content>, now: u64) -> Answer<Vec<Option<Record>>>;

    /// A page of the user's live records, newest first. Every row that is looked at for it is counted in `rows`. A long
    /// list lets other reads of the store go between.
    fn list(&self, user: UserId, request: PageRequest, now: u64, rows: RowsRead) -> Answer<Page>;

    /// Whether the user's recording is paused.
    fn paused(&self, user: UserId) -> Answer<bool>;

    /// What a new connection has to know of its user, on this day.
    fn standing(&self, user: UserId, day: Day) -> Answer<UserStatus>;

    /// The user's claims of a day, those of rules per user first; no more than `limit`.
    fn claims_of(&self, user: UserId, day: Day, limit: usize) -> Answer<Vec<ClaimKey>>;

    /// The store's own clock, milliseconds since 1970, by which this process's is measured; `None` if it has none.
    fn time(&self) -> Answer<Option<u64>> {
        Box::pin(ready(Ok(None)))
    }

    /// The claims of a shard on a day: those of rules per user all, of the others as many as the store can name.
    fn claims_in(&self, shard: Shard, day: Day) -> Answer<Vec<ClaimKey>>;
}

impl Group {
    pub fn new(now: u64, changes: Vec<Change>, rewards: Rewarding) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Group { number: LAST.fetch_add(1, Ordering::Relaxed) + 1, now, changes, rewards }
    }

    /// The same group, in which nothing is rewarded.
    pub fn without_rewards(&self) -> Self {
        let today = RewardDay { rules: RuleSet::NONE, ..self.rewards.today.clone() };
        let rewards = Rewarding { rules: self.rewards.rules.clone(), today, claims_max: 0 };
        Group { number: self.number, now: self.now, changes: self.changes.clone(), rewards }
    }

    /// A group without rewards.
    pub fn unrewarded(now: u64, changes: Vec<Change>) -> Self {
        Group::new(now, changes, Rewarding::none())
    }
}

pub type Answer<T> = BoxFuture<'static, Result<T, StoreError>>;

/// What a failed call means to its caller.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing is known to have been done; asking again may help.
    #[error("hot store unavailable: {0}")]
    Away(String),
    /// The store can no longer be trusted to keep anything until it is opened again.
    #[error("hot store failed and stopped writing: {0}")]
    Failed(String),
}
