//! What an answer to beats brings beside the ack.

use crate::model::ids::Content;
use crate::model::rewards::claim::ClaimKey;
use crate::model::rewards::day::Day;

/// Bounded by the answers it came with: each claims once for each rule, and is of one content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RewardNotice {
    /// Made by these beats.
    pub claims: Vec<ClaimKey>,
    /// All is decided for the user on this day.
    pub flag: Option<Day>,
    /// All is decided for these contents, each on its day.
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
