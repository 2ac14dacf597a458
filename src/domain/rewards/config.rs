//! Settings of the rewards. Each is explained, with its default, in `deploy/heartline.toml`.

use std::time::Duration;

use serde::Deserialize;

use model::rewards::rule::{Per, RewardRule, RuleMemory, Rules};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardsConfig {
    /// The IANA name of the zone whose days count.
    pub zone: String,
    pub rules: Vec<RuleConfig>,
    /// Users whose decisions and switches of recording are remembered.
    pub recent_users: usize,
    /// Claims of rules per user that are remembered for one day.
    pub remembered_claims: usize,
    /// Claims whose events may wait for the event bus.
    pub outbox: u64,
}

/// One rule, as configured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleConfig {
    pub id: String,
    pub per: PerConfig,
    /// Empty = all.
    #[serde(default)]
    pub kinds: Vec<u16>,
    #[serde(with = "humantime_serde")]
    pub watched: Duration,
    #[serde(default)]
    pub exact: bool,
    /// Claims a day; required unless `exact`, and refused with it.
    pub expected: Option<u64>,
    /// The false-positive rate of the bloom filter; required unless `exact`, and refused with it.
    pub probability: Option<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PerConfig {
    User,
    Content,
}

impl RewardsConfig {
    pub fn rules(&self) -> Rules {
        Rules::new(self.rules.iter().map(RuleConfig::rule).collect())
    }
}

impl RuleConfig {
    fn rule(&self) -> RewardRule {
        let memory = match (self.expected, self.probability) {
            (Some(expected), Some(probability)) if !self.exact => RuleMemory::Bloom { expected, probability },
            _ => RuleMemory::Exact,
        };
        RewardRule {
            id: self.id.as_str().into(),
            per: match self.per {
                PerConfig::User => Per::User,
                PerConfig::Content => Per::Content,
            },
            kinds: self.kinds.clone(),
            watched: self.watched,
            memory,
        }
    }
}
