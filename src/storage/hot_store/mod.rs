//! What a beat is committed to before its ack.
//!
//! A backend decides with the rules of [`crate::model::rule`] and nothing else, so that every backend gives the same
//! answers to the same changes.

mod claims;
pub mod config;
pub mod embedded;
pub mod listed_users;
pub mod optimistic;
mod positions;
pub mod redis;
mod store_clock;

use std::sync::atomic::{AtomicU64, Ordering};

pub use self::claims::{CLAIM_DAYS, Claims, UserStatus};
pub use self::optimistic::ListedUser;
pub use self::positions::Positions;
pub use self::store_clock::StoreClock;
use crate::model::change::{Change, Decided, Outcome};
use crate::model::decide::Transitions;
use crate::model::ids::UserId;
use crate::model::rewards::calendar::RewardDay;
use crate::model::rewards::rewarding::Rewarding;
use crate::model::rewards::rule::RuleSet;
pub use crate::storage::store_error::{Answer, StoreError};

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
    /// What was done to records, each with the change that it belongs to, in the order of the changes. A change is told
    /// of once, by whichever attempt has its outcome.
    pub transitions: Transitions,
    /// The changes, in their order, whose users may be connected to other gateways, too.
    pub elsewhere: Vec<usize>,
}

/// Users who are to be pruned.
#[derive(Debug, Default)]
pub struct Due {
    pub users: Vec<UserId>,
    /// Of the changes that prune them, milliseconds.
    pub horizon: u64,
}

/// All that is asked of a hot store. Each part of the gateway gets the side of it that it needs.
pub trait HotStore: Positions + Claims + StoreClock {}

impl<S: Positions + Claims + StoreClock> HotStore for S {}

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
