//! Reads of derived counters, and their recounts.

use std::sync::Arc;

use tokio::sync::Notify;

use super::jobs;
use super::worker::CounterWorker;
use crate::Redis;
use crate::hot_store::{RedisStore, generations};
use crate::sums::RedisSums;
use model::counters::{CounterId, CounterKey, Definitions, Recount, RecountJob};
use storage::Clock;
use storage::counters::{Answer, CounterReads, CountersError, DerivedCounters, Metrics};
use storage::hot_store::optimistic::TokenSource;
use storage::statistics::{self, CounterStatistics};

/// Reads are tried so often while a generation takes the place of another.
const TRIES: usize = 3;

/// Clones are of the same counters.
#[derive(Clone)]
pub struct RedisCounters {
    redis: Redis,
    statistics: Arc<dyn CounterStatistics>,
    wanted: Arc<Definitions>,
    /// A recount was asked for.
    asked: Arc<Notify>,
}

impl RedisCounters {
    /// Also returns what counts, which is to be run. `soon`: notified when a flight should begin soon.
    pub fn open(
        store: &RedisStore,
        statistics: Arc<dyn CounterStatistics>,
        wanted: Definitions,
        soon: Arc<Notify>,
        clock: Clock,
    ) -> (Self, CounterWorker) {
        let (shared, asked) = (store.shared.clone(), Arc::new(Notify::new()));
        let (redis, tokens) = (shared.redis.clone(), TokenSource::new(rand::random()));
        let counters = RedisCounters {
            redis: redis.clone(),
            statistics: statistics.clone(),
            wanted: Arc::new(wanted.clone()),
            asked: asked.clone(),
        };
        let (sums, metrics) = (RedisSums::of(redis), Metrics::default());
        let worker = CounterWorker { shared, statistics, sums, wanted, tokens, clock, asked, soon, metrics };
        (counters, worker)
    }

    /// Reads the generation that counts the counter as it is wanted. Its numbers may be removed as soon as it is no longer
    /// the present one.
    async fn read<T>(&self, id: &CounterId, read: impl Fn(u32) -> statistics::Answer<T>) -> Result<T, CountersError> {
        for _ in 0..TRIES {
            let current = generations::read(&self.redis).await?.current;
            let Some(current) = current.filter(|current| self.wanted.counts_as(id, &current.definitions)) else {
                break;
            };
            let found = read(current.number).await?;
            let now = generations::read(&self.redis).await?.current;
            if now.is_some_and(|now| now.number == current.number) {
                return Ok(found);
            }
        }
        Err(CountersError::Counting)
    }
}

impl CounterReads for RedisCounters {
    fn values(&self, id: CounterId, keys: Vec<CounterKey>) -> Answer<Vec<i64>> {
        let own = self.clone();
        Box::pin(async move {
            own.read(&id, |number| own.statistics.counter_values(number, id.clone(), keys.clone())).await
        })
    }

    fn top(&self, id: CounterId, prefix: CounterKey, limit: usize) -> Answer<Vec<(CounterKey, i64)>> {
        let own = self.clone();
        Box::pin(async move {
            own.read(&id, |number| own.statistics.counter_top(number, id.clone(), prefix.clone(), limit)).await
        })
    }
}

impl DerivedCounters for RedisCounters {
    fn recount(&self, id: CounterId, keys: Vec<CounterKey>, now: u64) -> Answer<String> {
        let own = self.clone();
        Box::pin(async move {
            let present = jobs::all(&own.redis).await?;
            let running = present.iter().find(|(_, job)| job.counter == id && job.is_running());
            if let Some((name, _)) = running {
                return Ok(name.clone());
            }
            let name = format!("{:016x}", rand::random::<u64>());
            jobs::add(&own.redis, &present, &name, &RecountJob::new(id, keys, now)).await?;
            own.asked.notify_one();
            Ok(name)
        })
    }

    fn recounted(&self, name: String, now: u64) -> Answer<Option<(CounterId, Recount)>> {
        let own = self.clone();
        Box::pin(async move {
            let job = jobs::get(&own.redis, &name).await?;
            Ok(job.filter(|job| job.is_kept(now)).map(|job| (job.counter, job.recount)))
        })
    }
}
