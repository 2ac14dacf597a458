//! What is decided already of the rewards of a beat.

use super::day::Day;
use super::rule::{Per, RuleSet, Rules};

/// On which day it was decided what a beat could be rewarded for, as far as its sender knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecidedRules {
    pub user: Option<Day>,
    pub content: Option<Day>,
}

impl DecidedRules {
    /// The rules that are decided on this day.
    pub fn on(self, day: Day, rules: &Rules) -> RuleSet {
        let of = |per, decided| if decided == Some(day) { rules.per(per) } else { RuleSet::NONE };
        of(Per::User, self.user).or(of(Per::Content, self.content))
    }

    /// Of two beats that one speaks for.
    pub fn joined(self, other: DecidedRules) -> DecidedRules {
        DecidedRules { user: self.user.max(other.user), content: self.content.max(other.content) }
    }
}
