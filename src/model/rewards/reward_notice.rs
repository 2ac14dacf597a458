//! News of rewards that an answer to beats brings beside the ack.

use super::claim::ClaimKey;
use super::day::Day;
use crate::ids::Content;

/// Bounded by the beats of the answer: each makes one claim per rule at most, and has one content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RewardNotice {
    /// Claims made by these beats.
    pub claims: Vec<ClaimKey>,
    /// The day on which all rules are decided for the user.
    pub flag: Option<Day>,
    /// Contents for which all rules are decided, each with its day.
    pub contents: Vec<(Day, Content)>,
}

impl RewardNotice {
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty() && self.flag.is_none() && self.contents.is_empty()
    }

    pub fn add(&mut self, later: RewardNotice) {
        self.claims.extend(later.claims);
        self.flag = self.flag.max(later.flag);
        self.contents.extend(later.contents);
    }
}
