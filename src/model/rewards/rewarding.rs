//! The rules that a group of changes is rewarded by.

use std::sync::Arc;

use super::calendar::RewardDay;
use super::day::Day;
use super::rule::{RuleSet, Rules};

#[derive(Clone, Debug)]
pub struct Rewarding {
    pub rules: Arc<Rules>,
    pub today: RewardDay,
    /// The room of the outbox: so many claims may be made.
    pub claims_max: u64,
}

impl Rewarding {
    /// No rule, no reward.
    pub fn none() -> Self {
        let today = RewardDay { day: Day::default(), rules: RuleSet::NONE, zone: Arc::from("UTC") };
        Rewarding { rules: Arc::default(), today, claims_max: 0 }
    }
}
