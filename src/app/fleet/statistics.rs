//! The parts that carry views from the hot store on Redis to the statistics store.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::super::assembly::Assembly;
use super::super::common::Common;
use super::super::counters::Derived;
use super::super::error::StartError;
use super::super::spawn::{runtime, spawn};
use super::Shared;
use crate::config::Config;
use domain::counters::config::CountersConfig;
use domain::flights::flusher::Flusher;
use domain::flights::metrics::Metrics as FlightMetrics;
use domain::time::clock;
use edge::shutdown::Stop;
use storage::statistics::config::Backend;
use storage::views::Views;
use storage_mongodb::{Metrics, MongoConfig, MongoStatistics};
use storage_redis::Redis;
use storage_redis::hot_store::{CounterWorker, RedisCounters};
use storage_redis::sums::RedisSums;
use storage_redis::views::{CountedKinds, RedisViews, ViewsWorker};

/// How long the end waits for Redis to know of it.
const GIVE_UP_MAX: Duration = Duration::from_secs(1);

pub(in super::super) struct Statistics {
    views: Arc<dyn Views>,
    derived: Derived,
    worker: ViewsWorker,
    counter_worker: CounterWorker,
    redis: Redis,
    store: Arc<MongoStatistics>,
    metrics: Metrics,
    /// Notified when a flight should begin soon.
    soon: Arc<Notify>,
}

impl Statistics {
    /// `None`: the hot store counts by itself, or views are off. A MongoDB that is away is waited for later. Blocks.
    pub fn open(config: &Config, shared: &Shared) -> Result<Option<Self>, StartError> {
        let Shared { redis, store: hot, .. } = shared;
        if config.statistics.store == Backend::Embedded {
            if config.views.is_on() {
                tracing::info!(
                    event = "views_off",
                    "views are not counted: with store.hot_store = \"redis\" they need statistics.store = \"mongodb\""
                );
            }
            return Ok(None);
        }
        let metrics = Metrics::default();
        let store = MongoStatistics::open(&MongoConfig::from(&config.statistics), &redis.id(), metrics.clone())?;
        let (store, soon) = (Arc::new(store), Arc::new(Notify::new()));
        let (by_playback, by_request) = (config.views.by_playback.clone(), config.views.by_request.clone());
        let kinds = CountedKinds { by_playback, by_request };
        let runtime = runtime().map_err(StartError::Process)?;
        let opened = runtime.block_on(RedisViews::open(redis.clone(), kinds, store.clone(), soon.clone()));
        let (views, worker) = opened.map_err(StartError::StoreAway)?;
        let wanted = config.counters.derived(&config.reading);
        let (derived, counter_worker) =
            RedisCounters::open(hot, store.clone(), wanted, soon.clone(), Arc::new(clock::wall));
        let derived = Derived { counters: Arc::new(derived), metrics: counter_worker.metrics().clone() };
        let (views, redis) = (Arc::new(views), redis.clone());
        Ok(Some(Statistics { views, derived, worker, counter_worker, redis, store, metrics, soon }))
    }

    pub fn views(&self) -> Arc<dyn Views> {
        self.views.clone()
    }

    pub fn derived(&self) -> Derived {
        self.derived.clone()
    }

    /// Even if no kind is counted any more: sums of before may be pending.
    pub fn build(self, config: &CountersConfig, common: &Common, assembly: &mut Assembly) {
        self.metrics.register(assembly.metrics());
        let metrics = FlightMetrics::new(assembly.metrics());
        let (sums, clock) = (Arc::new(RedisSums::of(self.redis)), common.clock.clone());
        let flusher = Flusher::new(sums, self.store, clock, config.flush_interval, self.soon, metrics);
        let flusher = Arc::new(flusher);
        let workers = (self.worker, self.counter_worker);
        let (health, stop) = (flusher.clone(), common.stop.clone());
        assembly.degraded.push(Box::new(move || health.degraded()));
        assembly.threads.push(Box::new(move || {
            let runtime = runtime()?;
            spawn("views", move || runtime.block_on(count_and_carry(workers, &flusher, &stop))).map(Some)
        }));
    }
}

/// Until the last request is answered.
async fn count_and_carry((views, counters): (ViewsWorker, CounterWorker), flusher: &Flusher, stop: &Stop) {
    tokio::select! {
        () = views.run() => {}
        () = counters.run() => {}
        () = flusher.run() => {}
        () = stop.stopped() => {}
    }
    // Another gateway may go on at once. What is pending waits in Redis.
    let _late = timeout(GIVE_UP_MAX, flusher.give_up_turn()).await;
}
