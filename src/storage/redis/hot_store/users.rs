//! Users' states in Redis.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::calendar::StoreCalendar;
use super::generations;
use super::rules_of_day::RulesOfDay;
use super::{IsSubscribed, Settings};
use crate::Redis;
use model::counters::Generations;
use model::ids::UserId;
use model::notices::Followed;
use model::rewards::calendar::StoredCalendar;
use model::rewards::day::Day;
use model::rewards::rewarding::Rewarding;
use model::version::Version;
use storage::hot_store::StoreError;
use storage::hot_store::optimistic::{Applied, Apply, Load, Loaded, UserStore};
use storage::notices::FollowedNow;

/// Loads by pipelines, and applies by a script that compares and writes.
pub struct RedisUsers {
    pub(super) redis: Redis,
    pub(super) settings: Settings,
    pub(super) follows: IsSubscribed,
    pub(super) calendar: Arc<StoreCalendar>,
    pub(super) rules_of_day: RulesOfDay,
    pub(super) followed: FollowedNow,
    generations: Mutex<Arc<Generations>>,
    /// The day on which no claims are made, since its calendar could not be stored.
    suspended: Mutex<Option<Day>>,
}

impl RedisUsers {
    /// Opens the users. Also returns the newest day of the rewards with a commit.
    pub async fn open(
        redis: Redis,
        settings: Settings,
        follows: IsSubscribed,
    ) -> Result<(Self, Option<StoredCalendar>), StoreError> {
        let (calendar, stored) = StoreCalendar::read(&redis).await?;
        let generations = Mutex::new(Arc::new(generations::read(&redis).await?));
        let (calendar, rules_of_day) = (Arc::new(calendar), RulesOfDay::default());
        let (followed, suspended) = (FollowedNow::default(), Mutex::default());
        let users = RedisUsers { redis, settings, follows, calendar, rules_of_day, followed, generations, suspended };
        Ok((users, stored))
    }

    /// Makes no claims on this day: the node of a Cluster that keeps the calendar does not store it, while other nodes
    /// may take commits.
    fn suspend_rewards(&self, day: Day, error: &StoreError) {
        if self.suspended().replace(day) != Some(day) {
            tracing::error!(event = "rewards_suspended", %error, "calendar of the rewards unavailable; rewards suspended");
        }
    }

    fn resume_rewards(&self, day: Day) {
        if self.suspended().take_if(|suspended| *suspended <= day).is_some() {
            tracing::info!(event = "rewards_resumed", "calendar of the rewards available again; rewards resumed");
        }
    }

    /// Locks the suspended day. No code that could panic runs under the lock.
    fn suspended(&self) -> MutexGuard<'_, Option<Day>> {
        self.suspended.lock()
    }
}

impl UserStore for RedisUsers {
    /// Stores the group's day and the filters of its rules, unless they are stored. While that fails in a Cluster,
    /// beats are committed without claims, as with a full outbox, and a later beat claims.
    async fn begin(&self, rewards: &Rewarding) -> Result<bool, StoreError> {
        let day = rewards.today.day;
        match self.calendar.keep(&self.redis, rewards).await {
            Ok(()) => {
                self.resume_rewards(day);
                Ok(true)
            }
            Err(error @ (StoreError::Away(_) | StoreError::Busy(_))) if !self.redis.joins_shards() => {
                self.suspend_rewards(day, &error);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    async fn load(&self, loads: &[Load]) -> Result<Vec<Loaded>, StoreError> {
        self.load_all(loads).await
    }

    async fn apply(&self, applies: &[&Apply]) -> Result<Vec<Applied>, StoreError> {
        self.apply_all(applies).await
    }

    fn generations(&self) -> Arc<Generations> {
        self.generations.lock().clone()
    }

    fn followed(&self) -> Followed {
        self.followed.get()
    }

    async fn read_generations(&self) -> Result<(), StoreError> {
        let read = generations::read(&self.redis).await?;
        let mut known = self.generations.lock();
        // Answers may come in another order than the changes.
        if read.order() >= known.order() {
            *known = Arc::new(read);
        }
        Ok(())
    }

    async fn put_off(&self, users: &[(UserId, Version)], due: u64) -> Result<(), StoreError> {
        self.put_off_all(users.to_vec(), due).await
    }
}
