//! The rules that a beat asks for, and the effects of the store's decisions.

use std::sync::Arc;

use super::memory::{LookupReason, Memory};
use super::metrics::Metrics;
use super::today::Today;
use crate::outbox::relay_notify::RelayNotify;
use model::beat::Beat;
use model::change::{Decided, Outcome};
use model::ids::{Content, UserId};
use model::rewards::calendar::RewardDay;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::rewards::decided::DecidedRules;
use model::rewards::reward_notice::RewardNotice;
use model::rewards::rewarding::Rewarding;
use model::rewards::rule::{RuleSet, Rules};
use storage::outbox::Outbox;

/// Runs before and after commits. Before a commit it drops rules that are known to be decided; after the commit it
/// remembers the decisions. Rules are never marked before the commit: a mark without a claim would deny the reward.
pub struct Judge {
    pub rules: Arc<Rules>,
    pub today: Arc<Today>,
    pub memory: Arc<Memory>,
    pub outbox: Arc<dyn Outbox>,
    /// The number of entries in the outbox from which on no claims are made.
    pub outbox_max: u64,
    /// Wakes the relay.
    pub notify: Arc<RelayNotify>,
    pub metrics: Metrics,
    /// A day on which claims were lost with the store: flags that clients bring of it do not count.
    pub lost_day: Option<Day>,
}

/// The rules of one beat.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenRules {
    /// Rules that are not known to be decided.
    pub open: RuleSet,
    decided: RuleSet,
    of_content: RuleSet,
}

impl Judge {
    /// The rules for a group that is committed at `now`.
    pub fn rewarding(&self, now: u64) -> Rewarding {
        let claims_max = self.outbox_max.saturating_sub(self.outbox.len());
        Rewarding { rules: self.rules.clone(), today: self.today.reward_day(now), claims_max }
    }

    /// The open rules of a beat, without rules that its session cannot have earned yet.
    pub fn ask(&self, user: UserId, beat: &Beat, known: DecidedRules, today: &RewardDay) -> OpenRules {
        let content = beat.content;
        if today.rules.is_empty() {
            return OpenRules::default();
        }
        let known = if self.lost_day == Some(today.day) { DecidedRules::default() } else { known };
        let mut decided = known.on(today.day, &self.rules).and(today.rules);
        if !today.per_user(&self.rules).without(decided).is_empty() {
            decided = decided.or(self.memory.user_rules(user, today, LookupReason::Beat).decided);
        }
        let may_apply = self.rules.may_apply(today.rules, content, beat.watched_ms());
        let of_content = today.per_content(&self.rules, content);
        if known.content != Some(today.day) {
            let earned_here = may_apply.and(of_content);
            decided = decided.or(self.memory.content_rules(earned_here, user, content, today.day));
        }
        OpenRules { open: may_apply.without(decided), decided, of_content }
    }

    /// Remembers the store's decisions on this beat. Returns the news that its sender does not know yet.
    pub fn settle(
        &self,
        (user, content, known): (UserId, Content, DecidedRules),
        asked: OpenRules,
        decided: &[Decided],
        today: &RewardDay,
    ) -> Option<RewardNotice> {
        let mut all = asked.decided;
        let mut news = RewardNotice::default();
        for each in decided {
            self.memory.mark(each.rule, user, content, today.day);
            self.metrics.decided(each);
            all.insert(each.rule);
            if self.is_reward(each) {
                news.claims.push(ClaimKey::of(self.rules.get(each.rule), today.day, user, content));
            }
        }
        if known.user != Some(today.day) {
            news.flag = today.flag(&self.rules, all);
        }
        let of_content = asked.of_content;
        if known.content != Some(today.day) && !of_content.is_empty() && all.covers(of_content) {
            news.contents.push((today.day, content));
        }
        (!news.is_empty()).then_some(news)
    }

    /// Whether the decision made a claim of a reward.
    pub fn is_reward(&self, decided: &Decided) -> bool {
        decided.first && !self.rules.counts_views(decided.rule)
    }

    /// Tells the relay about new claims. It publishes sooner when half of the outbox is taken.
    pub fn notify_relay(&self) {
        self.notify.notify(self.outbox.len() >= self.outbox_max / 2);
    }

    /// Updates the memory after an erasure or a switch of recording.
    pub fn follow(&self, user: UserId, outcome: &Outcome) {
        match outcome {
            Outcome::Recording { paused, .. } => self.memory.switched(user, *paused),
            Outcome::Erased { moved: true, .. } => self.memory.forget(user),
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
