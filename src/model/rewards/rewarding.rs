//! The reward rules for a group of changes.

use std::sync::Arc;

use super::calendar::{RewardDay, StoredCalendar};
use super::credit::Credit;
use super::day::Day;
use super::rule::{RuleSet, Rules};
use crate::beat::Beat;

#[derive(Clone, Debug)]
pub struct Rewarding {
    pub rules: Arc<Rules>,
    pub today: RewardDay,
    /// The free room of the outbox: the greatest number of claims, without views.
    pub claims_max: u64,
}

impl Rewarding {
    /// The rules of `asks` that may still apply to a beat that is written at `now`, as far as the beat alone can tell.
    pub fn may_apply(&self, asks: RuleSet, beat: &Beat, now: u64) -> RuleSet {
        let some = if Credit::is_fresh(beat, now) { asks.and(self.today.rules) } else { RuleSet::NONE };
        self.rules.may_apply(some, beat.content, beat.watched_ms())
    }

    /// The day as a store keeps it.
    pub fn calendar(&self) -> StoredCalendar {
        let RewardDay { day, zone, .. } = &self.today;
        StoredCalendar { day: *day, zone: zone.to_string(), rules: self.rule_ids().map(str::to_owned).collect() }
    }

    /// Whether `stored` is this [calendar](Self::calendar).
    pub fn is_of(&self, stored: &StoredCalendar) -> bool {
        let RewardDay { day, zone, .. } = &self.today;
        (stored.day, &*stored.zone) == (*day, &**zone) && stored.rules.iter().eq(self.rule_ids())
    }

    /// The ids of the rules that are decided today. The rule of views is not stored, since it may start at any time.
    fn rule_ids(&self) -> impl Iterator<Item = &str> {
        let rewards = self.today.rules.iter().map(|index| self.rules.get(index)).filter(|rule| !rule.counts_views());
        rewards.map(|rule| &*rule.id)
    }

    /// No rules, so no rewards.
    pub fn none() -> Self {
        let today = RewardDay { day: Day::default(), rules: RuleSet::NONE, zone: Arc::from("UTC") };
        Rewarding { rules: Arc::default(), today, claims_max: 0 }
    }
}
