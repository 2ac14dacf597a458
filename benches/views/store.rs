//! Views that are counted by a store itself, as many as it takes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use heartline::domain::flights::flusher::Flusher;
use heartline::domain::flights::metrics::Metrics as FlightMetrics;
use heartline::domain::time::clock::Clock;
use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::rewards::day::Day;
use heartline::model::secret::Secret;
use heartline::model::view::View;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::views::Views;
use heartline::storage_mongodb::{Metrics, MongoConfig, MongoStatistics};
use heartline::storage_redis::Redis;
use heartline::storage_redis::sums::RedisSums;
use heartline::storage_redis::views::{CountedKinds, RedisViews};
use prometheus_client::registry::Registry;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::cpu::Cpu;
use crate::times::Times;
use crate::{CONTENTS, KIND, Options, USERS, embedded};

/// From one look at totals that are not all known to the next.
const AGAIN: Duration = Duration::from_millis(100);

pub fn embedded(options: &Options) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let store = embedded::open(dir.path());
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(count(&store, options));
}

pub fn redis(options: &Options) {
    let redis = Redis::open(&RedisConfig::strict(&options.redis)).expect("Redis");
    let config = MongoConfig { url: Secret::new(options.mongodb.clone()), database: "heartline".to_owned() };
    let statistics = Arc::new(MongoStatistics::open(&config, &redis.id(), Metrics::default()).expect("MongoDB"));
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let kinds = CountedKinds { by_playback: Vec::new(), by_request: vec![KIND] };
        let soon = Arc::new(Notify::new());
        let open = RedisViews::open(redis.clone(), kinds, statistics.clone(), soon.clone());
        let (views, worker) = open.await.expect("views in Redis");
        let clock = Arc::new(Clock::starting_at(0, Duration::from_hours(1)));
        let metrics = FlightMetrics::new(&mut Registry::default());
        let interval = Duration::from_secs(2);
        let flusher = Flusher::new(Arc::new(RedisSums::of(redis)), statistics, clock, interval, soon, metrics.clone());
        tokio::select! {
            () = worker.run() => {}
            () = flusher.run() => {}
            () = count(&views, options) => {}
        }
        println!("{} flights with {} documents", metrics.flights.get(), metrics.documents.get());
    });
}

/// Each view is of a session of its own.
async fn count(views: &dyn Views, options: &Options) {
    // Sessions that are new also if it is run again.
    let mut dice = SmallRng::seed_from_u64(rand::random());
    let mut view = || View {
        user: UserId(dice.random_range(0..USERS)),
        content: Content { kind: KIND, oid: dice.random_range(0..CONTENTS) },
        session: Some(SessionId(dice.random())),
        day: Day::of_number(20_000),
    };
    let one = |view| {
        let (began, counted) = (Instant::now(), views.count(view));
        async move {
            let viewed = counted.await.expect("it is counted");
            assert!(viewed.counted, "each session is new");
            began.elapsed()
        }
    };
    let before = total(views).await;
    let (began, cpu, mut times) = (Instant::now(), Cpu::read("self"), Times::default());
    let mut waiting: FuturesUnordered<_> = (0..options.in_flight).map(|_| one(view())).collect();
    while let Some(time) = waiting.next().await {
        times.add(time);
        if began.elapsed() < options.time() {
            waiting.push(one(view()));
        }
    }
    let (seconds, cpu) = (began.elapsed().as_secs_f64(), Cpu::read("self").since(cpu).total());
    let count = times.count();
    assert_eq!(total(views).await - before, count as u64, "each view that was answered is in the totals");
    let (rate, each) = (count as f64 / seconds, cpu / count as f64);
    println!("{rate:>8.0} views/s, {each:.1} µs of CPU each, {} under way: {}", options.in_flight, times.sorted());
}

async fn total(views: &dyn Views) -> u64 {
    let contents: Vec<Content> = (0..CONTENTS).map(|oid| Content { kind: KIND, oid }).collect();
    loop {
        let totals = views.totals(contents.clone()).await.expect("totals").into_iter();
        if let Some(sum) = totals.sum::<Option<u64>>() {
            return sum;
        }
        // MongoDB is busy with a flight.
        sleep(AGAIN).await;
    }
}
