//! Users' states in Redis.

use std::sync::Arc;

use super::calendar::StoreCalendar;
use super::rules_of_day::RulesOfDay;
use super::{IsSubscribed, Settings};
use crate::model::rewards::calendar::StoredCalendar;
use crate::model::rewards::rewarding::Rewarding;
use crate::storage::hot_store::StoreError;
use crate::storage::hot_store::optimistic::{Applied, Apply, Load, Loaded, UserStore};
use crate::storage::redis::Redis;

/// Loads by pipelines, and applies by a script that compares and writes.
pub struct RedisUsers {
    pub(super) redis: Redis,
    pub(super) settings: Settings,
    pub(super) follows: IsSubscribed,
    pub(super) calendar: Arc<StoreCalendar>,
    pub(super) rules_of_day: RulesOfDay,
}

impl RedisUsers {
    /// Also the newest day of the rewards on which anything was committed.
    pub async fn open(
        redis: Redis,
        settings: Settings,
        follows: IsSubscribed,
    ) -> Result<(Self, Option<StoredCalendar>), StoreError> {
        let (calendar, stored) = StoreCalendar::read(&redis).await?;
        let (calendar, rules_of_day) = (Arc::new(calendar), RulesOfDay::default());
        Ok((RedisUsers { redis, settings, follows, calendar, rules_of_day }, stored))
    }

    /// To be called before a group is committed: stores its day and the filters of its rules, unless they are there.
    pub async fn begin(&self, rewards: &Rewarding) -> Result<(), StoreError> {
        self.calendar.keep(&self.redis, rewards).await
    }
}

impl UserStore for RedisUsers {
    async fn load(&self, loads: &[Load]) -> Result<Vec<Loaded>, StoreError> {
        self.load_all(loads).await
    }

    async fn apply(&self, applies: &[&Apply]) -> Result<Vec<Applied>, StoreError> {
        self.apply_all(applies).await
    }
}
