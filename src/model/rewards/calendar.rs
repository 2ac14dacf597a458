//! The current day of the rewards, and the rules that are decided on it.

use std::sync::Arc;

use super::day::Day;
use super::rule::{Per, RewardRule, RuleSet, Rules};
use super::zone::Zone;
use crate::ids::Content;

/// One day of the rewards.
#[derive(Clone, Debug, PartialEq)]
pub struct RewardDay {
    pub day: Day,
    /// The rules that are decided on this day.
    pub rules: RuleSet,
    /// The IANA name of the zone of the day.
    pub zone: Arc<str>,
}

impl RewardDay {
    /// The rules of this day that are per user.
    pub fn per_user(&self, rules: &Rules) -> RuleSet {
        rules.per(Per::User).and(self.rules)
    }

    /// The rules per content of this day for which `content` counts.
    pub fn per_content(&self, rules: &Rules, content: Content) -> RuleSet {
        rules.for_content(rules.per(Per::Content).and(self.rules), content)
    }

    /// The flag of a user for whom the rules `decided` are decided: the day once all rules per user are, if there are
    /// any.
    pub fn flag(&self, rules: &Rules, decided: RuleSet) -> Option<Day> {
        let per_user = self.per_user(rules);
        (!per_user.is_empty() && decided.covers(per_user)).then_some(self.day)
    }
}

/// The newest day on which anything was committed, as a store keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCalendar {
    pub day: Day,
    pub zone: String,
    /// The ids of the rules that were decided on it.
    pub rules: Vec<String>,
}

impl StoredCalendar {
    /// Whether a store that several gateways share replaces this calendar by that of `day`. A stored day stays as it
    /// is: the settings of the other gateway may be newer, and hold from the next day on.
    pub fn gives_way_to(&self, day: Day) -> bool {
        self.day < day
    }
}

/// The day of the rewards, which never goes back: max(the last day, the date in the zone).
///
/// Changed settings hold from the next day on. A new zone takes over once the day in the old zone has ended. A new rule
/// starts on the next day, except the rule of views, which starts at once. A removed rule ends at once.
#[derive(Clone, Debug)]
pub struct Calendar {
    rules: Arc<Rules>,
    zone: Zone,
    /// The zone in force until its day ends.
    old_zone: Option<Zone>,
    today: RewardDay,
    /// The next change of the day, milliseconds since 1970.
    until: u64,
}

impl Calendar {
    /// Without a `stored` calendar all settings hold at once; so does the zone if the stored name is unknown.
    pub fn open(zone: Zone, rules: Arc<Rules>, stored: Option<&StoredCalendar>, now: u64) -> Self {
        let (day, known) = match stored {
            Some(stored) => {
                let goes_on = |rule: &RewardRule| stored.rules.iter().any(|id| **id == *rule.id);
                (stored.day, rules.which(|rule| rule.counts_views() || goes_on(rule)))
            }
            None => (zone.day(now), rules.all()),
        };
        let old_zone = stored.and_then(|stored| Zone::named(&stored.zone).ok()).filter(|old| old.name() != zone.name());
        let in_force = old_zone.as_ref().unwrap_or(&zone).name().clone();
        let today = RewardDay { day, rules: known, zone: in_force };
        let mut calendar = Calendar { rules, zone, old_zone, today, until: 0 };
        calendar.advance(now);
        calendar
    }

    /// The day at `now`, milliseconds since 1970. `now` may go back, the day does not.
    pub fn advance(&mut self, now: u64) -> &RewardDay {
        if now >= self.until {
            self.change_day(now);
        }
        &self.today
    }

    /// [`advance`](Self::advance) answers the same until then, milliseconds since 1970.
    pub fn until(&self) -> u64 {
        self.until
    }

    fn change_day(&mut self, now: u64) {
        if let Some(old) = &self.old_zone {
            if old.day(now) <= self.today.day {
                self.until = old.end(self.today.day, now);
                return;
            }
            self.old_zone = None;
            self.today.zone = self.zone.name().clone();
        }
        let day = self.zone.day(now);
        if day > self.today.day {
            self.today.day = day;
            self.today.rules = self.rules.all();
        }
        self.until = self.zone.end(self.today.day, now);
    }
}

#[cfg(test)]
#[path = "calendar_tests.rs"]
mod tests;
