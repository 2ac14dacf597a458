//! A store that does at once what it is told, as the search drives it.

use std::collections::{BTreeMap, HashSet};

use heartline::model::ids::{Content, UserId};
use heartline::model::rewards::claim::Claim;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::sums::SumKey;
use heartline::storage::hot_store::optimistic::UserStore;

/// What the search wants of a store beside what gateways want of it.
pub trait Backing: UserStore {
    /// A group of this day is about to be committed.
    async fn begin_day(&self, rewards: &Rewarding);

    /// When the user is to be looked at, milliseconds.
    async fn look(&self, user: UserId) -> Option<u64>;

    /// What the list has of the user.
    async fn on_list(&self, user: UserId) -> OnList;

    /// How many rows there are outside the head.
    async fn rows(&self, user: UserId) -> usize;

    /// What is left in the outbox of the user, in no particular order.
    async fn outbox(&self, user: UserId) -> Vec<Claim>;

    /// What was added to pending sums for the user.
    async fn views(&self, user: UserId) -> BTreeMap<SumKey, i64>;

    /// The claim's event was published.
    async fn published(&self, claim: &Claim);
}

#[derive(Debug, Default, PartialEq)]
pub struct OnList {
    pub due: Option<u64>,
    pub marks: HashSet<Content>,
    /// All contents count as marked.
    pub all: bool,
}
