//! Derived counters on Redis as a backend, beside a statistics store in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use heartline::model::change::Action;
use heartline::model::counters::{CounterId, CounterKey, Definitions, Generations, Recount};
use heartline::model::ids::UserId;
use heartline::model::page::Page;
use heartline::model::rows_read::RowsRead;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::counters::{Answer, CounterReads, DerivedCounters};
use heartline::storage::hot_store::{Group, HotStore, Positions};
use heartline::storage::outbox::Outbox;
use heartline::storage::sums::PendingSums;
use heartline::storage_redis::Redis;
use heartline::storage_redis::hot_store::{RedisCounters, RedisStore};
use heartline::storage_redis::sums::RedisSums;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::{Notify, oneshot};

use crate::backends::PATIENCE;
use crate::backends::counters::{COUNTERS, CountersBackend, Records, all, definitions, recount};
use crate::backends::redis::{OnRedis, Servers, Single, open_remembering, tell};
use crate::backends::requests::*;
use crate::backends::statistics::{FakeStatistics, Fault};
use crate::backends::views_gateway::Gateway;

/// A gateway writes the flights.
pub struct RedisCounted<S: Servers> {
    // Ends before its servers do.
    gateway: Option<Gateway>,
    statistics: FakeStatistics,
    pub redis: OnRedis<S>,
}

/// The counters of a gateway, with what counts all records for it.
struct Counting {
    counters: RedisCounters,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl<S: Servers> Backend for RedisCounted<S> {
    const OUTBOX_KEEPS_ORDER: bool = OnRedis::<S>::OUTBOX_KEEPS_ORDER;

    fn fresh(limits: Limits) -> Self {
        let (statistics, redis) = (FakeStatistics::default(), OnRedis::<S>::fresh(limits));
        let interval = Some(Duration::from_millis(5));
        let gateway = Gateway::start(&redis.servers().url(), Arc::new(statistics.clone()), interval);
        RedisCounted { gateway: Some(gateway), statistics, redis }
    }

    fn store(&self) -> Arc<dyn HotStore> {
        self.redis.store()
    }

    fn outbox(&self) -> Arc<dyn Outbox> {
        self.redis.outbox()
    }

    fn reopen(&mut self, limits: Limits) {
        self.redis.reopen(limits);
    }
}

impl<S: Servers> CountersBackend for RedisCounted<S> {
    const CASES: u32 = 2;

    fn counters(&self, definitions: Definitions) -> Arc<dyn DerivedCounters> {
        let (statistics, soon) = (Arc::new(self.statistics.clone()), Arc::new(Notify::new()));
        let store = self.redis.redis_store();
        let (counters, worker) = RedisCounters::open(store, statistics, definitions, soon, Arc::new(|| NOW));
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            wait(async {
                tokio::select! {
                    () = worker.run() => {}
                    _ = stopped => {}
                }
            });
        });
        Arc::new(Counting { counters, stop: Some(stop), thread: Some(thread) })
    }

    fn flush(&self) {
        let sums = RedisSums::of(Redis::open(&RedisConfig::strict(&self.redis.servers().url())).unwrap());
        let until = Instant::now() + PATIENCE;
        let is_written = || {
            let look = wait(sums.look()).unwrap();
            look.oldest.is_none() && look.held.is_none()
        };
        while !is_written() {
            assert!(Instant::now() < until, "sums stay in Redis");
            self.gateway.as_ref().unwrap().soon.notify_one();
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl CounterReads for Counting {
    fn values(&self, id: CounterId, keys: Vec<CounterKey>) -> Answer<Vec<i64>> {
        self.counters.values(id, keys)
    }

    fn top(&self, id: CounterId, prefix: CounterKey, limit: usize) -> Answer<Vec<(CounterKey, i64)>> {
        self.counters.top(id, prefix, limit)
    }
}

impl DerivedCounters for Counting {
    fn recount(&self, id: CounterId, keys: Vec<CounterKey>, now: u64) -> Answer<String> {
        self.counters.recount(id, keys, now)
    }

    fn recounted(&self, name: String, now: u64) -> Answer<Option<(CounterId, Recount)>> {
        self.counters.recounted(name, now)
    }
}

/// Two gateways write the same users, while their connections are cut at any moment.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn each_change_is_counted_once_whatever_is_cut_or_refused() {
    let backend = RedisCounted::<Single>::fresh(ROOMY);
    let definitions = definitions(COUNTERS, 0.9);
    let counters = backend.counters(definitions.clone());
    drop(all(&*counters, &definitions));
    let url = backend.redis.servers().url();
    let stores = [1, 2].map(|_| Arc::new(open_remembering(100, &url, ROOMY, Duration::ZERO, |_| false)));
    let (done, progress) = (AtomicBool::new(false), Progress::default());
    let conflicts = || stores.iter().map(|store| store.metrics().conflicts.get()).sum::<u64>();
    let shown = || progress.repeats.load(Ordering::Relaxed) > 5 && conflicts() > 10;
    thread::scope(|scope| {
        let writers =
            stores.each_ref().map(|store| scope.spawn(|| write(store, Arc::as_ptr(store) as u64, &progress, &shown)));
        scope.spawn(|| {
            let mut killer = backend.redis.connection();
            // A machine that is too slow for a commit between two cuts is given more time.
            let (mut seen, mut slowness) = (0, 1);
            while !done.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(slowness * rand::rng().random_range(5..80)));
                let now = progress.written.load(Ordering::Relaxed);
                slowness = if now == seen { (2 * slowness).min(16) } else { 1 };
                seen = now;
                tell::<()>(&mut killer, &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
            }
        });
        let ended = writers.map(|writer| writer.join());
        done.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(Result::unwrap);
        assert!(shown(), "{progress:?} and {} conflicts show nothing", conflicts());
    });
    backend.flush();
    let mut records = Records::default();
    for user in (0..USERS).map(UserId) {
        let page = list_after_cuts(&backend.store(), user);
        records.0.extend(page.records.into_iter().map(|record| ((user, record.content), record)));
    }
    assert_eq!(all(&*counters, &definitions), records.counted(&definitions));
}

/// The first read may meet a connection that was cut.
fn list_after_cuts(store: &Arc<dyn HotStore>, user: UserId) -> Page {
    let until = Instant::now() + PATIENCE;
    loop {
        match wait(store.list(user, everything(), NOW, RowsRead::default())) {
            Ok(page) => return page,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
    }
}

const USERS: u64 = 10;

/// How many groups the writers have committed, and how often they had to commit one again.
#[derive(Debug, Default)]
struct Progress {
    written: AtomicUsize,
    repeats: AtomicUsize,
}

/// So many groups, and more until enough has happened.
fn write(store: &RedisStore, seed: u64, progress: &Progress, shown: &impl Fn() -> bool) {
    let (mut rng, enough) = (SmallRng::seed_from_u64(seed), Instant::now() + PATIENCE);
    for at in (1_000..).take_while(|at| *at < 1_100 || !shown() && Instant::now() < enough) {
        let change = |rng: &mut SmallRng| {
            let (user, oid) = (UserId(rng.random_range(0..USERS)), rng.random_range(0..4));
            match rng.random_range(0..12) {
                0 => change(user, Action::Delete { contents: vec![content(oid)], at }),
                1 => change(user, Action::Erase { at }),
                _ => beat_of(user, content(oid), at + rng.random_range(0..3)),
            }
        };
        let changes = (0..rng.random_range(1..5)).map(|_| change(&mut rng)).collect();
        let group = Group::unrewarded(at, changes);
        let until = Instant::now() + PATIENCE;
        while let Err(error) = wait(store.commit(&group)) {
            assert!(Instant::now() < until, "{error}");
            progress.repeats.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(2));
        }
        progress.written.fetch_add(1, Ordering::Relaxed);
    }
}

/// Each flight and each read takes far longer than it takes until the next flight begins, also on a busy machine.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_recount_ends_while_one_flight_follows_another() {
    let backend = RedisCounted::<Single>::fresh(ROOMY);
    let definitions = definitions(COUNTERS, 0.9);
    let counters = backend.counters(definitions.clone());
    drop(all(&*counters, &definitions));
    backend.statistics.fail(Fault::Delayed(Duration::from_millis(200)));
    let (store, is_over, until) = (backend.store(), AtomicBool::new(false), Instant::now() + 2 * PATIENCE);
    let before = backend.statistics.asked().len();
    let recount = thread::scope(|scope| {
        scope.spawn(|| {
            for at in (1_000..).take_while(|_| !is_over.load(Ordering::Relaxed) && Instant::now() < until) {
                let beat = beat_of(UserId(at % USERS), content(at % 4), at);
                // None is committed while the shards learn of a new generation.
                let _ = wait(store.commit(&Group::unrewarded(at, vec![beat])));
            }
        });
        let recount = recount(&*counters, &definitions.counters[0].id, Vec::new());
        is_over.store(true, Ordering::Relaxed);
        recount
    });
    assert_eq!(recount.differences, []);
    assert!(backend.statistics.asked().len() > before, "flights were written meanwhile");
    backend.statistics.recover();
}

/// A gateway has changed the generations, and ended before the shards named them.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn commits_go_on_when_a_gateway_ends_in_the_middle_of_a_change() {
    let backend = RedisCounted::<Single>::fresh(ROOMY);
    let definitions = definitions(COUNTERS, 0.9);
    let counters = backend.counters(definitions.clone());
    drop(all(&*counters, &definitions));
    let mut connection = backend.redis.connection();
    let json: String = tell(&mut connection, &["GET", "{h0}:counters"]);
    let before: Generations = serde_json::from_str(&json).unwrap();
    let begun = serde_json::to_string(&before.begin(definitions.clone())).unwrap();
    tell::<()>(&mut connection, &["SET", "{h0}:counters", &begun]);
    let store = backend.store();
    for at in 1_000..1_020 {
        let group = Group::unrewarded(NOW, vec![beat_of(UserId(at), content(1), at)]);
        let until = Instant::now() + PATIENCE;
        while let Err(error) = wait(store.commit(&group)) {
            assert!(Instant::now() < until, "{error}");
            thread::sleep(Duration::from_millis(20));
        }
    }
    backend.flush();
    assert_eq!(all(&*counters, &definitions)[&"all".parse().unwrap()], [(CounterKey::default(), 20)]);
}
