//! What a gateway has of views: its own connection to Redis, what counts, and what writes flights.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use heartline::domain::flights::flusher::Flusher;
use heartline::domain::flights::metrics::Metrics;
use heartline::domain::time::clock::Clock;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::statistics::Statistics;
use heartline::storage_redis::Redis;
use heartline::storage_redis::sums::{FLIGHT_SUMS_MAX, RedisSums};
use heartline::storage_redis::views::{CountedKinds, RedisViews};
use prometheus_client::registry::Registry;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, oneshot};

/// Its views are counted by playback.
pub const PLAYED: u16 = 5;

pub struct Gateway {
    pub views: Arc<RedisViews>,
    pub sums: Arc<RedisSums>,
    pub metrics: Metrics,
    pub flusher: Arc<Flusher>,
    /// Notified when a flight should begin soon.
    pub soon: Arc<Notify>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Gateway {
    /// `flights`: from flight to flight; `None`: it writes none.
    pub fn start(url: &str, statistics: Arc<dyn Statistics>, flights: Option<Duration>) -> Self {
        Self::with_flights_of(url, statistics, flights, FLIGHT_SUMS_MAX)
    }

    /// `sums_max`: of a flight, about.
    pub fn with_flights_of(
        url: &str,
        statistics: Arc<dyn Statistics>,
        flights: Option<Duration>,
        sums_max: usize,
    ) -> Self {
        let redis = Redis::open(&RedisConfig::strict(url)).unwrap();
        let (runtime, soon) = (runtime(), Arc::new(Notify::new()));
        let kinds = CountedKinds { by_playback: vec![PLAYED], by_request: vec![1] };
        let open = RedisViews::open(redis.clone(), kinds, statistics.clone(), soon.clone());
        let (views, worker) = runtime.block_on(open).unwrap();
        let metrics = Metrics::new(&mut Registry::default());
        let clock = Arc::new(Clock::starting_at(0, Duration::from_secs(3_600)));
        let sums = Arc::new(RedisSums::in_flights_of(redis, sums_max));
        let interval = flights.unwrap_or(Duration::MAX);
        let flusher = Arc::new(Flusher::new(sums.clone(), statistics, clock, interval, soon.clone(), metrics.clone()));
        let own = flusher.clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                let flush = async {
                    match flights {
                        Some(_) => own.run().await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = worker.run() => {}
                    () = flush => {}
                    _ = stopped => {}
                }
            });
        });
        Gateway { views: Arc::new(views), sums, metrics, flusher, soon, stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}
