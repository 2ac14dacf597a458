//! The configured hot store, and the parts that come with it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;

use super::alike;
use super::counters::{Derived, Direct};
use super::error::StartError;
use crate::config::Config;
use crate::domain::devices::gateways::Gateways;
use crate::domain::time::clock;
use crate::model::retention::Retention;
use crate::model::rewards::calendar::StoredCalendar;
use crate::storage::counters::DirectCounters;
use crate::storage::counters::redis::RedisDirect;
use crate::storage::device_channel::redis::RedisChannel;
use crate::storage::device_channel::{Alone, DeviceChannel};
use crate::storage::embedded::data_dir::DataDir;
use crate::storage::embedded::disk_usage::DiskUsage;
use crate::storage::event_bus::embedded::EmbeddedLog;
use crate::storage::event_bus::{self, EventTopic};
use crate::storage::hot_store::HotStore;
use crate::storage::hot_store::config::Backend;
use crate::storage::hot_store::embedded::{EmbeddedCounters, EmbeddedDirect, EmbeddedStore};
use crate::storage::hot_store::listed_users::ListedUsers;
use crate::storage::hot_store::optimistic::Metrics;
use crate::storage::hot_store::redis::{RedisStore, Settings};
use crate::storage::notices::Notices;
use crate::storage::outbox::Outbox;
use crate::storage::redis::Redis;
use crate::storage::redis::fleet_settings::FleetSettings;
use crate::storage::revocation_list::RevocationList;
use crate::storage::revocation_list::file::FileList;
use crate::storage::revocation_list::redis::RedisList;
use crate::storage::views::Views;

/// How often the disk is measured: more often than Prometheus asks.
const DISK_USAGE_INTERVAL: Duration = Duration::from_secs(5);

pub(super) struct Hot {
    pub store: Arc<dyn HotStore>,
    pub outbox: Arc<dyn Outbox>,
    pub notices: Arc<dyn Notices>,
    /// Tells the store from others.
    pub name: String,
    pub channel: Arc<dyn DeviceChannel>,
    /// The server's clock begins no earlier, milliseconds since 1970.
    pub clock_floor: u64,
    pub calendar: Option<StoredCalendar>,
    pub views: Option<Arc<dyn Views>>,
    pub direct: Direct,
    pub derived: Option<Derived>,
    pub redis: Option<Shared>,
    /// Those without a store, before the channel; `None`: none can connect.
    pub gateways: Option<Arc<Gateways>>,
    /// Of the event log, where it is not in the hot store's.
    pub _data_dir: Option<DataDir>,
}

/// What gateways on one store share.
pub(super) struct Shared {
    pub redis: Redis,
    pub settings: FleetSettings,
    pub store: Arc<RedisStore>,
    pub channel: Arc<RedisChannel>,
    pub listed: Arc<dyn ListedUsers>,
    pub metrics: Metrics,
}

/// Of the databases that this process keeps.
pub(super) fn measure_disk(config: &Config, registry: &mut Registry) -> io::Result<()> {
    let hot = (config.store.hot_store == Backend::Embedded).then_some(("hot", EmbeddedStore::FOLDER));
    let logs_here = config.events.event_bus == event_bus::config::Backend::Embedded;
    let logs = [("events", EventTopic::Rewards), ("positions", EventTopic::Positions)];
    let logs = logs.map(|(name, topic)| (name, EmbeddedLog::folder(topic))).into_iter().filter(|_| logs_here);
    let disk_usage = DiskUsage::start(&config.store.data_dir, hot.into_iter().chain(logs), DISK_USAGE_INTERVAL)?;
    registry.register_collector(Box::new(disk_usage));
    Ok(())
}

/// Of the hot store on Redis.
pub(super) fn redis_settings(config: &Config) -> Settings {
    Settings {
        retention: Retention::of(config.store.retention),
        records_per_user: config.store.records_per_user,
        history_interval: config.history.is_kept().then_some(config.history.interval),
        user_cache: config.store.user_cache,
        outbox_max: config.rewards.outbox,
        takeover_after: Settings::TAKEOVER_AFTER,
    }
}

impl Hot {
    /// `accept_settings`: those that gateways on one Redis must have alike become the ones of all.
    pub fn open(config: &Config, accept_settings: bool) -> Result<Self, StartError> {
        let mut hot = match config.store.hot_store {
            Backend::Embedded => Self::embedded(config)?,
            Backend::Redis => Self::redis(config, accept_settings)?,
            Backend::HistoryService => unreachable!("a gateway without a store opens none"),
        };
        hot.gateways = config.grpc.listen.0.map(|_| Gateways::before(hot.channel.clone()));
        if let Some(gateways) = &hot.gateways {
            hot.channel = gateways.clone();
        }
        Ok(hot)
    }

    /// The list of revocations beside the store.
    pub fn revocations(&self, config: &Config) -> Box<dyn RevocationList> {
        match &self.redis {
            Some(shared) => Box::new(RedisList::of(shared.redis.clone())),
            // In the data directory, which the store holds for this process.
            None => Box::new(FileList::of(&config.store.data_dir)),
        }
    }

    fn embedded(config: &Config) -> Result<Self, StartError> {
        let store = Arc::new(EmbeddedStore::open(&config.store, Arc::new(clock::wall))?);
        let definitions = Arc::new(config.counters.direct());
        let direct: Option<Arc<dyn DirectCounters>> = match definitions.is_empty() {
            true => None,
            false => Some(Arc::new(EmbeddedDirect::open(store.clone(), definitions, config.rewards.outbox)?)),
        };
        let derived = EmbeddedCounters::of(store.clone(), config.counters.derived(&config.reading));
        let metrics = derived.metrics().clone();
        Ok(Hot {
            outbox: store.clone(),
            notices: store.clone(),
            name: format!("embedded {}", store.id()),
            channel: Arc::new(Alone),
            clock_floor: store.clock_floor(),
            calendar: store.calendar().cloned(),
            views: Some(store.clone()),
            direct: Direct { counters: direct, worker: None },
            derived: Some(Derived { counters: Arc::new(derived), metrics }),
            redis: None,
            gateways: None,
            _data_dir: None,
            store,
        })
    }

    fn redis(config: &Config, accept_settings: bool) -> Result<Self, StartError> {
        let logs_here = config.events.event_bus == event_bus::config::Backend::Embedded;
        let data_dir = logs_here.then(|| DataDir::take(&config.store.data_dir)).transpose()?;
        let redis = Redis::open(&config.redis)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(StartError::Process)?;
        let alike = FleetSettings::new(redis.clone(), config.alike.clone());
        runtime.block_on(alike::agree(&alike, accept_settings))?;
        let channel = RedisChannel::new();
        let own = channel.clone();
        let follows = Arc::new(move |user| own.follows(user));
        let settings = redis_settings(config);
        let room = settings.outbox_per_shard();
        let store = runtime.block_on(RedisStore::open(redis.clone(), settings, follows));
        let store = Arc::new(store.map_err(StartError::StoreAway)?);
        let definitions = Arc::new(config.counters.direct());
        let direct = (!definitions.is_empty())
            .then(|| RedisDirect::new(redis.clone(), definitions, room, store.take_entry()))
            .map(|(direct, worker)| (Arc::new(direct) as Arc<dyn DirectCounters>, worker));
        let (direct, worker) = direct.unzip();
        Ok(Hot {
            outbox: store.clone(),
            notices: store.clone(),
            name: format!("redis {}", redis.deployment()),
            channel: channel.clone(),
            // The clock is held against that of Redis.
            clock_floor: 0,
            calendar: store.calendar().cloned(),
            views: None,
            direct: Direct { counters: direct, worker },
            derived: None,
            redis: Some(Shared {
                redis,
                settings: alike,
                store: store.clone(),
                channel,
                metrics: store.metrics().clone(),
                listed: store.clone(),
            }),
            gateways: None,
            _data_dir: data_dir,
            store,
        })
    }
}
