//! Settings of the views. Each is explained, with its default, in `deploy/heartline.toml`.

use std::time::Duration;

use serde::Deserialize;

use model::rewards::rule::RewardRule;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewsConfig {
    /// Kinds whose views are counted by playback: once a day for each user and content.
    pub by_playback: Vec<u16>,
    /// The watch time needed for a view by playback; 0 = the first beat is enough.
    #[serde(with = "humantime_serde")]
    pub watched: Duration,
    /// Kinds whose views are counted by request.
    pub by_request: Vec<u16>,
    /// Whether totals are readable without a token.
    pub public: bool,
}

/// How the views of a kind are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedBy {
    Playback,
    Request,
}

impl ViewsConfig {
    /// `None`: views of this kind are not counted.
    pub fn counted_by(&self, kind: u16) -> Option<CountedBy> {
        let playback = self.by_playback.contains(&kind).then_some(CountedBy::Playback);
        playback.or_else(|| self.by_request.contains(&kind).then_some(CountedBy::Request))
    }

    /// Whether views of any kind are counted.
    pub fn is_on(&self) -> bool {
        !self.by_playback.is_empty() || !self.by_request.is_empty()
    }

    /// The rule that decides views by playback, if any kind is counted so.
    pub fn rule(&self) -> Option<RewardRule> {
        (!self.by_playback.is_empty()).then(|| RewardRule::of_views(self.by_playback.clone(), self.watched))
    }
}
