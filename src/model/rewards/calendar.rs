//! Which day it is, and what is decided on it.

use std::sync::Arc;

use super::day::Day;
use super::rule::RuleSet;

/// One day of the rewards.
#[derive(Clone, Debug, PartialEq)]
pub struct RewardDay {
    pub day: Day,
    /// What is decided on it.
    pub rules: RuleSet,
    /// The IANA name of the zone whose day it is.
    pub zone: Arc<str>,
}

/// The newest day on which anything was committed, as a store keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCalendar {
    pub day: Day,
    pub zone: String,
    /// The ids of the rules that were decided on it.
    pub rules: Vec<String>,
}
