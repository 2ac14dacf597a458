//! Users who watch: their beats are committed, and count views.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use heartline::model::beat::{Beat, State};
use heartline::model::change::{Action, Change};
use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::retention::Retention;
use heartline::model::rewards::calendar::RewardDay;
use heartline::model::rewards::day::Day;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::rewards::rule::{RewardRule, Rules};
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::hot_store::{Group, Positions};
use heartline::storage_redis::Redis;
use heartline::storage_redis::hot_store::{RedisStore, Settings};

use crate::sums::gateway::{PLAYED, runtime};

pub struct Players {
    store: RedisStore,
    rewards: Rewarding,
}

impl Players {
    pub fn new(url: &str, day: Day) -> Self {
        let settings = Settings {
            retention: Retention::of(Duration::from_hours(48)),
            records_per_user: NonZeroU32::MAX,
            user_cache: NonZeroUsize::new(100).unwrap(),
            history_interval: None,
            outbox_max: 1,
            takeover_after: Duration::ZERO,
        };
        let redis = Redis::open(&RedisConfig::strict(url)).unwrap();
        // The first beat is enough.
        let rules = Rules::default().and(Some(RewardRule::of_views(vec![PLAYED], Duration::ZERO)));
        let today = RewardDay { day, rules: rules.all(), zone: Arc::from("UTC") };
        let rewards = Rewarding { rules: Arc::new(rules), today, claims_max: 0 };
        let runtime = runtime();
        let store = loop {
            // Its way may be cut, too.
            let opened = RedisStore::open(redis.clone(), settings.clone(), Arc::new(|_| false));
            if let Ok(store) = runtime.block_on(opened) {
                break store;
            }
        };
        Players { store, rewards }
    }

    /// Commits two beats of a user until it is known. Returns how many views they have counted.
    pub async fn play(&self, user: UserId, content: Content) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        let change = |at| {
            let (state, session) = (State::Playing, SessionId(at));
            let beat = Beat { content, pos: 0, dur: 0, state, session, watched: Some(0), rate: 1.0, at };
            Change { user, action: Action::beat(beat, Arc::from("tv"), self.rewards.rules.all()) }
        };
        let group = Group::new(now, vec![change(now), change(now + 1)], self.rewards.clone());
        loop {
            if let Ok(committed) = self.store.commit(&group).await {
                return committed.decided.iter().filter(|decided| decided.first).count() as u64;
            }
        }
    }
}
