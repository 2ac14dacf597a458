//! The hot store, to which beats are committed before their acks.
//!
//! A backend decides with the rules of [`model::rule`] and nothing else, so that every backend gives the same
//! answers to the same changes.

mod claims;
pub mod cold_filter;
pub mod config;
pub mod forwarding;
mod found;
pub mod listed_users;
pub mod optimistic;
mod positions;
pub mod reward_decisions;
mod store_clock;
mod stored_users;
pub mod trim_users;
pub mod unread_users;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use self::claims::{CLAIM_DAYS, Claims, UserStatus};
pub use self::found::{Found, FoundCold};
pub use self::optimistic::ListedUser;
pub use self::positions::Positions;
pub use self::store_clock::StoreClock;
pub use self::stored_users::StoredUsers;
pub use crate::store_error::{Answer, StoreError};
use model::change::{Change, Decided, Outcome};
use model::cold::ColdRows;
use model::decide::Transitions;
use model::ids::UserId;
use model::rewards::calendar::RewardDay;
use model::rewards::reward_notice::RewardNotice;
use model::rewards::rewarding::Rewarding;
use model::rewards::rule::RuleSet;
use model::sender::Sender;

/// Changes that are committed together, and decided at the same time.
#[derive(Debug)]
pub struct Group {
    /// Unique in this process: by it a store recognizes a group that is committed again.
    pub number: u64,
    /// The server's clock, milliseconds: scripts and stores take their time from the gateway.
    pub now: u64,
    pub changes: Vec<Change>,
    pub rewards: Rewarding,
    /// The sender of each change, for a store that [decides rewards itself](reward_decisions::RewardDecisions); empty
    /// for any other.
    pub senders: Vec<Sender>,
    /// Rows of the history store for changes that were answered with [`Outcome::Cold`], with the indices of the changes.
    pub cold: Vec<(usize, Arc<ColdRows>)>,
}

/// The result of a group.
#[derive(Debug, Default)]
pub struct Committed {
    /// The outcome of each change, in the same order.
    pub outcomes: Vec<Outcome>,
    /// The decisions of rules, in the order of the changes.
    pub decided: Vec<Decided>,
    /// The changes of records, each with the change that caused it, in the order of the changes. Of several attempts to
    /// commit a change only one returns its transitions.
    pub transitions: Transitions,
    /// The reward notices of a store that [decides rewards itself](reward_decisions::RewardDecisions), with the indices
    /// of the changes, in order.
    pub news: Vec<(usize, RewardNotice)>,
    /// The indices of changes whose users may be connected to other gateways, too.
    pub elsewhere: Vec<usize>,
}

/// Users to prune.
#[derive(Debug, Default)]
pub struct Due {
    pub users: Vec<UserId>,
    /// The horizon of the changes that prune them, milliseconds.
    pub horizon: u64,
}

/// All interfaces of a hot store. Each part of the gateway gets the one that it needs.
pub trait HotStore: RecordStore + Claims {}

impl<S: RecordStore + Claims> HotStore for S {}

/// The interfaces of a hot store but for the claims: what a gateway needs whose history service decides the rewards.
pub trait RecordStore: Positions + StoreClock + StoredUsers {}

impl<S: Positions + StoreClock + StoredUsers> RecordStore for S {}

impl Group {
    pub fn new(now: u64, changes: Vec<Change>, rewards: Rewarding) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let (number, senders) = (LAST.fetch_add(1, Ordering::Relaxed) + 1, Vec::new());
        Group { number, now, changes, rewards, senders, cold: Vec::new() }
    }

    /// The same group, without rewards.
    pub fn without_rewards(&self) -> Self {
        let today = RewardDay { rules: RuleSet::NONE, ..self.rewards.today.clone() };
        let rewards = Rewarding { rules: self.rewards.rules.clone(), today, claims_max: 0 };
        let (changes, senders, cold) = (self.changes.clone(), self.senders.clone(), self.cold.clone());
        Group { changes, rewards, senders, cold, ..*self }
    }

    /// A group without rewards.
    pub fn unrewarded(now: u64, changes: Vec<Change>) -> Self {
        Group::new(now, changes, Rewarding::none())
    }
}
