//! Views by playback: decided like a reward, but without one.

use std::time::Duration;

use super::rule::{Per, RewardRule, RuleMemory};

impl RewardRule {
    /// No rule of the settings has this id, because `_` is not allowed in them.
    pub const VIEWS: &str = "_views";

    /// One view a day of each content of these kinds, for each user who has watched this long.
    ///
    /// Its claims add to the views in one step with their beat, and make no event. The rule starts at once, not with
    /// the next day.
    pub fn of_views(kinds: Vec<u16>, watched: Duration) -> Self {
        RewardRule { id: Self::VIEWS.into(), per: Per::Content, kinds, watched, memory: RuleMemory::Exact }
    }

    pub fn counts_views(&self) -> bool {
        &*self.id == Self::VIEWS
    }
}
