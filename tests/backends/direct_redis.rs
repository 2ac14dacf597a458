//! The direct counters on Redis as a backend, and what they alone promise.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use heartline::model::counters::CounterKey;
use heartline::model::counters::direct::{Added, DirectCounter, DirectDefinitions};
use heartline::model::outbox_entry::OutboxEntry;
use heartline::model::shard::Shards;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::counters::{Addition, CounterReads, DirectCounters};
use heartline::storage::outbox::{Outbox, codec};
use heartline::storage_redis::Redis;
use heartline::storage_redis::counters::RedisDirect;
use redis::Connection;

use crate::backends::PATIENCE;
use crate::backends::direct_counters::DirectBackend;
use crate::backends::redis::{OnRedis, OneServer, Servers, connection, tell};
use crate::backends::requests::{Backend, NOW, ROOMY, wait};

pub struct RedisCounters<S: Servers> {
    // Ends before its servers do.
    counters: Arc<RedisDirect>,
    backend: OnRedis<S>,
}

impl<S: Servers + Sync> RedisCounters<S> {
    fn of(backend: OnRedis<S>, definitions: Arc<DirectDefinitions>) -> Self {
        let redis = Redis::open(&RedisConfig::strict(&backend.servers().url())).unwrap();
        let take_entry = backend.redis_store().take_entry();
        let (counters, worker) = RedisDirect::new(redis, definitions, Self::ROOM as u64, take_entry);
        // It ends when the counters are gone.
        thread::spawn(move || wait(worker.run()));
        RedisCounters { counters: Arc::new(counters), backend }
    }
}

impl<S: Servers + Sync> DirectBackend for RedisCounters<S> {
    const ROOM: usize = 1_000;

    fn empty(definitions: Arc<DirectDefinitions>) -> Self {
        Self::of(OnRedis::fresh(ROOMY), definitions)
    }

    fn counters(&self) -> Arc<dyn DirectCounters> {
        self.counters.clone()
    }

    fn outbox(&self) -> Arc<dyn Outbox> {
        self.backend.outbox()
    }

    fn reopened(self, definitions: Arc<DirectDefinitions>) -> Self {
        let RedisCounters { counters, mut backend } = self;
        drop(counters);
        backend.reopen(ROOMY);
        Self::of(backend, definitions)
    }
}

fn likes(thresholds: &[i64]) -> Arc<DirectDefinitions> {
    let id = "likes".parse().unwrap();
    let (min, max, thresholds) = (0, DirectCounter::NUMBER_MAX, thresholds.to_vec());
    let key = vec!["oid".to_owned()];
    Arc::new(DirectDefinitions::new([DirectCounter { id, key, min, max, initial: 0, thresholds }]))
}

fn key() -> CounterKey {
    CounterKey::of(["100"]).unwrap()
}

fn addition(definitions: &DirectDefinitions, id: Option<&str>) -> Addition {
    let counter = definitions.all().next().unwrap().clone();
    Addition { counter, key: key(), by: 1, id: id.map(Arc::from), now: NOW }
}

/// As it is told once the last broken connection is open again.
fn value(counters: &RedisDirect) -> i64 {
    let began = Instant::now();
    loop {
        match wait(counters.values("likes".parse().unwrap(), vec![key()])) {
            Ok(values) => return values[0],
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Breaks all connections of the gateway now and then, for as long as `act` runs.
fn while_connections_break(killer: &mut Connection, act: impl FnOnce(&AtomicU64) + Send) {
    let answered = AtomicU64::new(0);
    thread::scope(|scope| {
        let acting = scope.spawn(|| act(&answered));
        while !acting.is_finished() {
            let before = answered.load(Relaxed);
            tell::<()>(killer, &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
            // On a slow machine too, the gateway gets to connect again and some requests are answered.
            while answered.load(Relaxed) < before + 10 && !acting.is_finished() {
                thread::sleep(Duration::from_millis(1));
            }
        }
        acting.join().unwrap();
    });
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_request_with_an_id_is_repeated_until_it_is_answered_and_done_once() {
    const REQUESTS: u64 = 1_000;
    let thresholds: Vec<i64> = (1..=30).map(|number| number * 10).collect();
    let definitions = likes(&thresholds);
    let backend = RedisCounters::of(OneServer::fresh(ROOMY), definitions.clone());
    let (counters, mut killer) = (backend.counters.clone(), backend.backend.connection());
    while_connections_break(&mut killer, |answered| {
        for request in 0..REQUESTS {
            let began = Instant::now();
            let addition = addition(&definitions, Some(&request.to_string()));
            while let Err(error) = wait(counters.add(addition.clone())) {
                assert!(began.elapsed() < PATIENCE, "{error}");
            }
            answered.fetch_add(1, Relaxed);
        }
    });
    assert_eq!(value(&backend.counters), REQUESTS as i64);
    let outbox = format!("{{h{}}}:o", Shards::DEFAULT.of_counter(&"likes".parse().unwrap(), &key()).0);
    let entries: Vec<Vec<u8>> =
        tell(&mut connection(&backend.backend.servers().all()[0]), &["ZRANGE", &outbox, "0", "-1"]);
    let crossing = |entry: &Vec<u8>| match codec::decode(entry).unwrap() {
        OutboxEntry::Crossing(crossing) => (crossing.threshold, crossing.n),
        OutboxEntry::Claim(claim) => panic!("{claim:?}"),
    };
    let crossed: BTreeSet<_> = entries.iter().map(crossing).collect();
    assert_eq!((entries.len(), crossed), (30, thresholds.iter().map(|threshold| (*threshold, 1)).collect()));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_request_without_an_id_is_never_done_twice() {
    const REQUESTS: i64 = 1_000;
    let definitions = likes(&[]);
    let backend = RedisCounters::of(OneServer::fresh(ROOMY), definitions.clone());
    let (counters, mut killer) = (backend.counters.clone(), backend.backend.connection());
    let (mut done, mut unanswered) = (0, 0);
    while_connections_break(&mut killer, |answered| {
        while done < REQUESTS {
            match wait(counters.add(addition(&definitions, None))) {
                Ok(Added::Done { .. }) => {
                    done += 1;
                    answered.fetch_add(1, Relaxed);
                }
                Ok(other) => panic!("{other:?}"),
                Err(_) => {
                    unanswered += 1;
                    thread::sleep(Duration::from_millis(1));
                }
            }
        }
    });
    let value = value(&backend.counters);
    assert!(unanswered > 0, "no connection broke in a request");
    assert!((done..=done + unanswered).contains(&value), "{value}: {done} answered, {unanswered} not");
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn nothing_is_counted_in_a_redis_that_was_wiped() {
    let definitions = likes(&[1]);
    let backend = RedisCounters::of(OneServer::fresh(ROOMY), definitions.clone());
    let mut connection = backend.backend.connection();
    let keys = |connection: &mut Connection| tell::<Vec<String>>(connection, &["KEYS", "*:c*likes*"]);
    for shard in Shards::DEFAULT.all() {
        tell::<()>(&mut connection, &["DEL", &format!("{{h{}}}:deployment", shard.0)]);
    }
    for id in [None, Some("a")] {
        assert!(wait(backend.counters.add(addition(&definitions, id))).is_err());
    }
    assert!(wait(backend.counters.values("likes".parse().unwrap(), vec![key()])).is_err());
    assert!(wait(backend.counters.top("likes".parse().unwrap(), CounterKey::default(), 1)).is_err());
    assert_eq!(keys(&mut connection), [""; 0]);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn what_is_remembered_goes_by_itself() {
    let definitions = likes(&[1]);
    let backend = RedisCounters::of(OneServer::fresh(ROOMY), definitions.clone());
    let mut connection = backend.backend.connection();
    for _ in 0..2 {
        wait(backend.counters.add(addition(&definitions, Some("a")))).unwrap();
        let keys: Vec<String> = tell(&mut connection, &["KEYS", "*likes*"]);
        let expiring = |key: &String| tell::<i64>(&mut connection, &["PTTL", key]);
        let mut kept: Vec<(String, bool)> =
            keys.iter().map(|key| (key[key.find('}').unwrap()..].to_owned(), false)).collect();
        let lasts: Vec<i64> = keys.iter().map(expiring).collect();
        kept.iter_mut().zip(&lasts).for_each(|(kept, lasts)| kept.1 = *lasts < 0);
        kept.sort();
        let expected = [("}:ch:likes:a", false), ("}:cr:likes:a", false), ("}:cv:likes", true), ("}:cx:likes", true)];
        assert_eq!(kept, expected.map(|(key, stays)| (key.to_owned(), stays)));
        let hours = |hours: i64| hours * 3_600_000;
        assert!(lasts.iter().all(|lasts| *lasts < 0 || (hours(24)..=hours(25)).contains(lasts)), "{lasts:?}");
    }
}
