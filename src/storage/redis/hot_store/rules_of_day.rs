//! The rules with claims in a shard on a day that this gateway has stored, so that further claims need not store them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::shard::Shard;

/// The time after which a rule is stored again, in case a Redis that took over has lost it.
const LISTED_FOR: Duration = Duration::from_secs(60);

/// The rules of the newest day and of the one before it: a group may have begun before midnight.
#[derive(Default)]
pub struct RulesOfDay(Mutex<[Listed; 2]>);

/// The time at which each rule was stored. At most one entry per shard and rule, about 50 bytes each.
#[derive(Default)]
struct Listed {
    day: Day,
    rules: HashMap<(Shard, Arc<str>), Instant>,
}

impl RulesOfDay {
    pub fn has(&self, shard: Shard, key: &ClaimKey, now: Instant) -> bool {
        let days = self.days();
        let listed = days.iter().find(|listed| listed.day == key.day);
        let since = listed.and_then(|listed| listed.rules.get(&(shard, key.rule.clone())));
        since.is_some_and(|since| now.saturating_duration_since(*since) < LISTED_FOR)
    }

    /// Takes note that the rule was stored with a claim. An earlier note is kept: claims that did not store the rule
    /// again do not extend its time.
    pub fn add(&self, shard: Shard, key: &ClaimKey, now: Instant) {
        let mut days = self.days();
        if days[0].day < key.day {
            days.swap(0, 1);
            days[0] = Listed { day: key.day, rules: HashMap::new() };
        }
        if let Some(listed) = days.iter_mut().find(|listed| listed.day == key.day) {
            let since = listed.rules.entry((shard, key.rule.clone())).or_insert(now);
            if now.saturating_duration_since(*since) >= LISTED_FOR {
                *since = now;
            }
        }
    }

    fn days(&self) -> MutexGuard<'_, [Listed; 2]> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::UserId;

    fn key(day: u16, rule: &str) -> ClaimKey {
        ClaimKey { rule: rule.into(), day: Day::of_number(day), user: UserId(42), content: None }
    }

    #[test]
    fn the_last_two_days_are_known_by_shard_and_rule() {
        let (one, other, now) = (Shard(1), Shard(2), Instant::now());
        let rules = RulesOfDay::default();
        let (add, has) =
            (|day, rule| rules.add(one, &key(day, rule), now), |day, rule| rules.has(one, &key(day, rule), now));
        add(7, "a");
        add(8, "b");
        add(7, "c");
        assert!(has(7, "a") && has(7, "c") && has(8, "b"));
        assert!(!rules.has(other, &key(7, "a"), now) && !has(8, "a"));
        add(9, "a");
        assert!(has(8, "b") && has(9, "a") && !has(7, "a"));
        add(6, "a");
        assert!(!has(6, "a"));
    }

    #[test]
    fn a_rule_is_listed_again_after_a_minute() {
        let (shard, begin) = (Shard(1), Instant::now());
        let rules = RulesOfDay::default();
        let at = |seconds| begin + Duration::from_secs(seconds);
        rules.add(shard, &key(7, "a"), begin);
        rules.add(shard, &key(7, "a"), at(59));
        assert!(rules.has(shard, &key(7, "a"), at(59)) && !rules.has(shard, &key(7, "a"), at(60)));
        rules.add(shard, &key(7, "a"), at(61));
        assert!(rules.has(shard, &key(7, "a"), at(120)));
    }
}
