//! Checks of the rules of the rewards.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::Config;
use super::checks::Checks;
use domain::rewards::config::{PerConfig, RewardsConfig, RuleConfig};
use model::rewards::rule::{RewardRule, Rules};
use model::rewards::zone::Zone;

const RULES: &str = "rewards.rules";

/// A list, like that of a client.
const KINDS_MAX: usize = 32;

/// The most time that a rule may ask for: the watched time is counted anew each day.
pub(super) const WATCHED_MAX: Duration = Duration::from_secs(24 * 3600);

const EXPECTED: RangeInclusive<u64> = 1..=100_000_000;
const PROBABILITY: RangeInclusive<f64> = 0.000_001..=0.5;

impl Checks<'_> {
    pub(super) fn rewards(&mut self, config: &Config) {
        let rewards = &config.rewards;
        if let Err(error) = Zone::named(&rewards.zone) {
            self.require(false, "rewards.zone", || error.to_string());
        }
        self.at_least_one("rewards.recent_users", rewards.recent_users as u64);
        self.at_least_one("rewards.remembered_claims", rewards.remembered_claims as u64);
        self.at_least_one("rewards.outbox", rewards.outbox);
        let count = rewards.rules.len();
        // Views by playback are decided by one more.
        let (most, because) = match config.views.by_playback.is_empty() {
            true => (Rules::MAX, ""),
            false => (Rules::MAX - 1, " with views.by_playback"),
        };
        self.require(count <= most, RULES, || format!("has {count} rules; at most {most}{because}"));
        for (index, rule) in rewards.rules.iter().enumerate() {
            for (field, message) in complaints(rewards, index, rule) {
                self.require(false, RULES, || format!("rule {:?}: {field}: {message}", rule.id));
            }
        }
    }
}

/// The faults of a rule: field and message.
fn complaints(rewards: &RewardsConfig, index: usize, rule: &RuleConfig) -> Vec<(&'static str, String)> {
    let mut complaints = Vec::new();
    let mut require = |holds: bool, field: &'static str, message: &str| {
        if !holds {
            complaints.push((field, message.to_owned()));
        }
    };
    require(RewardRule::is_id(&rule.id), "id", "cannot be used; write 1 to 32 lower-case letters, digits and hyphens");
    let taken = rewards.rules[..index].iter().any(|other| other.id == rule.id);
    require(!taken, "id", "is also the id of another rule; choose another one");
    let same_mark = |other: &&RuleConfig| RewardRule::mark(&other.id) == RewardRule::mark(&rule.id);
    let confused = rewards.rules[..index].iter().find(same_mark).filter(|other| other.id != rule.id);
    let other = confused.map_or("", |other| &*other.id);
    require(confused.is_none(), "id", &format!("is stored like {other:?}; choose another one"));
    let is_views = RewardRule::mark(&rule.id) == RewardRule::mark(RewardRule::VIEWS);
    require(!is_views, "id", "is stored like a view by playback; choose another one");
    require(rule.kinds.len() <= KINDS_MAX, "kinds", &format!("has {} kinds; at most {KINDS_MAX}", rule.kinds.len()));
    require(rule.watched <= WATCHED_MAX, "watched", "must be at most 24h");
    match (rule.per, rule.exact) {
        (PerConfig::User, false) => require(false, "exact", "must be true in a rule with per = \"user\""),
        (_, true) => {
            let idle = "is not used in an exact rule; leave it out";
            require(rule.expected.is_none(), "expected", idle);
            require(rule.probability.is_none(), "probability", idle);
        }
        (PerConfig::Content, false) => {
            let expected = "set how many claims a day there will be, 1 to 100000000, or exact = true";
            require(rule.expected.is_some_and(|claims| EXPECTED.contains(&claims)), "expected", expected);
            let probability = "set which share may be denied by mistake, 0.000001 to 0.5, or exact = true";
            require(rule.probability.is_some_and(|share| PROBABILITY.contains(&share)), "probability", probability);
        }
    }
    complaints
}

#[cfg(test)]
#[path = "rewards_checks_tests.rs"]
mod tests;
