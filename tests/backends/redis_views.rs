//! Views on Redis as a backend, beside a statistics store in memory.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use heartline::storage::config::redis::RedisConfig;
use heartline::storage::hot_store::HotStore;
use heartline::storage::sums::PendingSums;
use heartline::storage::views::Views;
use heartline::storage_redis::Redis;
use heartline::storage_redis::sums::RedisSums;

use crate::backends::PATIENCE;
use crate::backends::hot_store_views::PlaybackBackend;
use crate::backends::redis::{OnRedis, Servers};
use crate::backends::requests::{Backend, ROOMY, wait};
use crate::backends::statistics::FakeStatistics;
use crate::backends::views::ViewsBackend;
use crate::backends::views_gateway::Gateway;

pub struct RedisWithStatistics<S: Servers> {
    // Ends before its servers do.
    gateway: Option<Gateway>,
    statistics: FakeStatistics,
    redis: OnRedis<S>,
}

impl<S: Servers> RedisWithStatistics<S> {
    fn start(&mut self) {
        let interval = Some(Duration::from_millis(20));
        let url = self.redis.servers().url();
        self.gateway = Some(Gateway::start(&url, Arc::new(self.statistics.clone()), interval));
    }
}

impl<S: Servers> ViewsBackend for RedisWithStatistics<S> {
    fn empty() -> Self {
        let (statistics, redis) = (FakeStatistics::default(), OnRedis::fresh(ROOMY));
        let mut backend = RedisWithStatistics { gateway: None, statistics, redis };
        backend.start();
        backend
    }

    fn views(&self) -> Arc<dyn Views> {
        self.gateway.as_ref().unwrap().views.clone()
    }

    fn reopened(mut self) -> Self {
        self.gateway = None;
        self.redis.reopen(ROOMY);
        self.start();
        self
    }

    fn flush(&self) {
        let sums = RedisSums::of(Redis::open(&RedisConfig::strict(&self.redis.servers().url())).unwrap());
        let until = Instant::now() + PATIENCE;
        while wait(sums.look()).unwrap().oldest.is_some() {
            assert!(Instant::now() < until, "sums stay in Redis");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl<S: Servers> PlaybackBackend for RedisWithStatistics<S> {
    fn hot_store(&self) -> Arc<dyn HotStore> {
        self.redis.store()
    }

    fn outbox_entries(&self) -> u64 {
        self.redis.outbox().len()
    }
}
