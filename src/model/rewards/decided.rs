//! The rules that are decided already for a beat.

use super::day::Day;
use super::rule::{Per, RuleSet, Rules};

/// The days on which the rules per user and per content were last decided, as far as the sender of the beat knows.
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

    /// The newer days of two beats, when one of them stands for both.
    pub fn joined(self, other: DecidedRules) -> DecidedRules {
        DecidedRules { user: self.user.max(other.user), content: self.content.max(other.content) }
    }
}
