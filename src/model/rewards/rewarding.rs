//! The rules that a group of changes is rewarded by.

use std::sync::Arc;

use super::calendar::{RewardDay, StoredCalendar};
use super::credit::Credit;
use super::day::Day;
use super::rule::{RuleSet, Rules};
use crate::model::beat::Beat;

#[derive(Clone, Debug)]
pub struct Rewarding {
    pub rules: Arc<Rules>,
    pub today: RewardDay,
    /// The room of the outbox: so many claims may be made.
    pub claims_max: u64,
}

impl Rewarding {
    /// Those of `asks` that may still apply to a beat that is written at `now`, as far as the beat alone can tell.
    pub fn may_apply(&self, asks: RuleSet, beat: &Beat, now: u64) -> RuleSet {
        let some = if Credit::is_fresh(beat, now) { asks.and(self.today.rules) } else { RuleSet::NONE };
        self.rules.may_apply(some, beat.content, beat.watched)
    }

    /// The day as a store keeps it.
    pub fn calendar(&self) -> StoredCalendar {
        let RewardDay { day, zone, .. } = &self.today;
        StoredCalendar { day: *day, zone: zone.to_string(), rules: self.rule_ids().map(str::to_owned).collect() }
    }

    /// Whether this is the [calendar](Self::calendar).
    pub fn is_of(&self, stored: &StoredCalendar) -> bool {
        let RewardDay { day, zone, .. } = &self.today;
        (stored.day, &*stored.zone) == (*day, &**zone) && stored.rules.iter().eq(self.rule_ids())
    }

    /// Of the rules that are decided today.
    fn rule_ids(&self) -> impl Iterator<Item = &str> {
        self.today.rules.iter().map(|place| &*self.rules.get(place).id)
    }

    /// No rule, no reward.
    pub fn none() -> Self {
        let today = RewardDay { day: Day::default(), rules: RuleSet::NONE, zone: Arc::from("UTC") };
        Rewarding { rules: Arc::default(), today, claims_max: 0 }
    }
}
