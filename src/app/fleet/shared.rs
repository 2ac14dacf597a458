//! The hot store on Redis, and the parts that come with it.

use std::sync::Arc;

use super::super::access::Access;
use super::super::assembly::Assembly;
use super::super::common::Common;
use super::super::counters::Direct;
use super::super::error::StartError;
use super::super::hot::{Hot, require_content_ids, require_subjects};
use super::super::redis_certificates::RedisCertificates;
use super::super::subscribers::bounds;
use super::agreed::{agree, overruled};
use super::certificates;
use super::history_packs;
use super::history_trim;
use crate::config::Config;
use domain::cold::ColdReader;
use domain::content_names::NamedContents;
use domain::history_packs::feed::PackFeed;
use domain::names::UserNames;
use domain::subscribers::config::SubscribersConfig;
use domain::time::clock::Clock;
use edge::auth::Subjects;
use model::content_name::ContentIds;
use model::retention::Retention;
use storage::counters::DirectCounters;
use storage::device_channel::ChannelSubscriber;
use storage::event_bus;
use storage::owner_queues::OwnerQueues;
use storage::revocation_list::RevocationList;
use storage_embedded::data_dir::DataDir;
use storage_redis::Redis;
use storage_redis::content_names::RedisContentNames;
use storage_redis::counters::RedisDirect;
use storage_redis::device_channel::RedisChannel;
use storage_redis::fleet_settings::FleetSettings;
use storage_redis::hot_store::{RedisStore, Settings};
use storage_redis::names::RedisNames;
use storage_redis::owner_queues::RedisQueues;
use storage_redis::revocation_list::RedisList;

/// The parts that gateways on one Redis share.
pub(in super::super) struct Shared {
    pub(super) redis: Redis,
    settings: FleetSettings,
    pub(super) store: Arc<RedisStore>,
    channel: Arc<RedisChannel>,
}

impl Shared {
    pub fn revocations(&self) -> Box<dyn RevocationList> {
        Box::new(RedisList::of(self.redis.clone()))
    }

    /// The queues of subscribers.
    pub fn queues(&self, settings: &SubscribersConfig) -> Arc<dyn OwnerQueues> {
        Arc::new(RedisQueues::new(self.redis.clone(), bounds(settings)))
    }

    /// What a reload reads again.
    pub fn certificates(&self) -> Option<Arc<RedisCertificates>> {
        certificates(&self.redis)
    }

    /// The reader of records that have left the hot store; `None` without a history store.
    pub fn cold_reader(&self, config: &Config, clock: &Arc<Clock>, assembly: &mut Assembly) -> Option<Arc<ColdReader>> {
        history_trim::cold_reader(config, self.store.clone(), clock.clone(), assembly)
    }

    /// Carries changes to the history store, if one is configured, and delivers what the other gateways send. The process
    /// ends when another gateway makes its settings those of all. `feed`: for a page that shows the packs, if there is one.
    pub fn build(
        self,
        config: &Config,
        feed: Option<Arc<PackFeed>>,
        messages: Arc<dyn ChannelSubscriber>,
        access: &Access,
        common: &Common,
        assembly: &mut Assembly,
    ) -> Result<(), StartError> {
        assembly.ends.push(overruled(&self.settings));
        history_packs::build(config, (self.store.clone(), self.redis.id()), feed, common, assembly)?;
        history_trim::build(config, self.store.clone(), common, assembly);
        let registry = assembly.metrics();
        self.redis.register(registry);
        self.channel.register(registry);
        self.store.metrics().register(registry);
        let messages = self.channel.run(self.redis, messages);
        let revocations = access.revocations.clone().keep_up();
        assembly.background.push(Box::pin(async {
            tokio::join!(messages, revocations);
        }));
        Ok(())
    }
}

/// Opens the hot store on Redis. `accept_settings`: the settings of this gateway become those of all gateways on it.
pub(in super::super) fn open_hot(config: &Config, accept_settings: bool) -> Result<(Hot, Shared), StartError> {
    let logs_here = config.events.event_bus == event_bus::config::Backend::Embedded;
    let data_dir = logs_here.then(|| DataDir::take(&config.store.data_dir)).transpose()?;
    let redis = Redis::open(&config.redis)?;
    if redis.rebuilt_at().is_some() && !config.history.is_kept() {
        let why = "redis.url: this Redis was rebuilt from a history store, which alone has the records of users who were not \
                   here since; set history.store as before";
        return Err(StartError::Misfit(why.to_owned()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(StartError::Process)?;
    let settings = FleetSettings::new(redis.clone(), config.alike.clone());
    let found = runtime.block_on(async {
        let (users, contents) = (RedisNames::are_kept(&redis).await?, RedisContentNames::are_kept(&redis).await?);
        // The first gateway stores it. A cascade, which may start before, stores other settings.
        let is_made = settings.know("store.retention").await?;
        Ok((((users || is_made).then_some(users)), ((contents || is_made).then_some(contents))))
    });
    let (of_users, of_contents) = found.map_err(StartError::StoreAway)?;
    require_subjects(config.auth.subjects, of_users)?;
    require_content_ids(config.contents.ids, of_contents)?;
    let names = match config.auth.subjects {
        Subjects::Number => None,
        Subjects::Any => {
            let names = runtime.block_on(RedisNames::open(redis.clone())).map_err(StartError::StoreAway)?;
            Some(UserNames::new(Arc::new(names)))
        }
    };
    let contents = match config.contents.ids {
        ContentIds::Number => None,
        ContentIds::Any => {
            let open = RedisContentNames::open(redis.clone(), config.store.retention);
            Some(NamedContents::new(Arc::new(runtime.block_on(open).map_err(StartError::StoreAway)?)))
        }
    };
    runtime.block_on(agree(&settings, accept_settings))?;
    let channel = RedisChannel::new();
    let own = channel.clone();
    let follows = Arc::new(move |user| own.follows(user));
    let of_store = store_settings(config);
    let room = of_store.outbox_per_shard();
    let store = runtime.block_on(RedisStore::open(redis.clone(), of_store, follows));
    let store = Arc::new(store.map_err(StartError::StoreAway)?);
    let hot = Hot {
        outbox: store.clone(),
        notices: store.clone(),
        name: format!("redis {}", redis.deployment()),
        channel: channel.clone(),
        // The clock is held against that of Redis.
        clock_floor: 0,
        calendar: store.calendar().cloned(),
        names,
        contents,
        rebuilt_at: redis.rebuilt_at(),
        views: None,
        direct: direct_counters(config, &redis, room, &store),
        derived: None,
        gateways: None,
        _data_dir: data_dir,
        store: store.clone(),
    };
    Ok((hot, Shared { redis, settings, store, channel }))
}

/// `room`: entries with which the outbox of a shard is full.
fn direct_counters(config: &Config, redis: &Redis, room: u64, store: &RedisStore) -> Direct {
    let definitions = Arc::new(config.counters.direct());
    if definitions.is_empty() {
        return Direct { counters: None, worker: None };
    }
    let (direct, worker) = RedisDirect::new(redis.clone(), definitions, room, store.take_entry());
    let counters: Arc<dyn DirectCounters> = Arc::new(direct);
    Direct { counters: Some(counters), worker: Some(Box::pin(worker.run())) }
}

pub(super) fn store_settings(config: &Config) -> Settings {
    Settings {
        retention: Retention::of(config.store.retention),
        records_per_user: config.store.records_per_user,
        history_interval: config.history.is_kept().then_some(config.history.interval),
        user_cache: config.store.user_cache,
        outbox_max: config.rewards.outbox,
        takeover_after: Settings::TAKEOVER_AFTER,
    }
}
