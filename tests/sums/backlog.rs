//! Flights while more is pending than one has room for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use heartline::model::ids::Content;
use heartline::model::rewards::day::Day;
use heartline::model::shard::Shards;
use heartline::model::sums::{Flight, FlightNumber, StoredTotal, Sum, SumKey, Unit};
use heartline::storage::statistics::{Answer, Statistics, StatisticsAway, Written};
use heartline::storage::sums::drain::Drain;
use heartline::storage::sums::{Look, PendingSums, Taken};
use heartline::storage::views::Views;
use heartline::storage_redis::sums::FLIGHT_SUMS_MAX;
use redis::{Connection, FromRedisValue};
use tokio::time::{sleep, timeout};

use crate::sums::gateway::{Gateway, runtime};
use crate::sums::redis_server::RedisServer;
use crate::sums::rules::{count, flush_until, gateway, has_written, take};
use crate::sums::statistics::FakeStatistics;
use crate::sums::{PATIENCE, day, prepared};

/// Of a kind whose views are counted by request.
pub fn asked(oid: u64) -> Content {
    Content { kind: 1, oid }
}

/// A gateway that writes no flights unless it is told to.
pub fn with_flights_of(server: &RedisServer, statistics: &FakeStatistics, sums_max: usize) -> Gateway {
    Gateway::with_flights_of(&server.url(), Arc::new(statistics.clone()), None, sums_max)
}

pub fn connection(server: &RedisServer) -> Connection {
    redis::Client::open(server.url()).unwrap().get_connection().unwrap()
}

pub fn ask<T: FromRedisValue>(server: &RedisServer, words: &[&str]) -> T {
    redis::cmd(words[0]).arg(&words[1..]).query(&mut connection(server)).unwrap()
}

/// Keeps these fields pending in a shard, the longer the lower its number.
pub fn put(server: &RedisServer, shard: u64, key: &str, fields: impl IntoIterator<Item = (String, u64)>) {
    hold(server, shard, key, fields);
    let _: u64 = ask(server, &["HSETNX", &format!("{{h{shard}}}:s"), "since", &(1 + shard).to_string()]);
}

fn hold(server: &RedisServer, shard: u64, key: &str, fields: impl IntoIterator<Item = (String, u64)>) {
    let fields: Vec<(String, u64)> = fields.into_iter().collect();
    let mut connection = connection(server);
    for chunk in fields.chunks(5_000) {
        redis::cmd("HSET").arg(format!("{{h{shard}}}:{key}")).arg(chunk).exec(&mut connection).unwrap();
    }
}

/// Of the pending views of a shard.
pub fn put_day(server: &RedisServer, shard: u64) {
    let _: u64 = ask(server, &["SADD", &format!("{{h{shard}}}:sd"), &day().to_string()]);
}

/// Views of one content, and as many on a day.
pub fn views(oid: u64, by: u64) -> [(String, u64); 2] {
    [(format!("1:{oid}"), by), (format!("1:{oid}:{}", day()), by)]
}

/// Views of so many contents are pending in each of these shards, and as many on a day.
fn backlog(server: &RedisServer, shards: u64, contents: u64) {
    for shard in 0..shards {
        let oids = shard * contents..(shard + 1) * contents;
        put(server, shard, "sp", oids.flat_map(|oid| views(oid, oid + 1)));
        put_day(server, shard);
    }
}

/// The flight, and whether there is more.
pub fn part(gateway: &Gateway, number: FlightNumber) -> (Flight, bool) {
    match take(gateway, number) {
        Taken::Flight(flight) => (flight, false),
        Taken::Part(flight) => (flight, true),
        Taken::Lower(lower) => panic!("a shard holds {lower}"),
    }
}

pub fn look(gateway: &Gateway) -> Look {
    runtime().block_on(gateway.sums.look()).unwrap()
}

pub fn remove(gateway: &Gateway, number: FlightNumber) {
    runtime().block_on(gateway.sums.remove(number)).unwrap();
}

pub fn is_drained(look: Look) -> bool {
    look.held.is_none() && look.oldest.is_none()
}

pub async fn flush_all(gateway: &Gateway) {
    let drained = async {
        while !gateway.sums.look().await.is_ok_and(is_drained) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = gateway.flusher.run() => {}
        ended = timeout(PATIENCE, drained) => ended.expect("all is written"),
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_flight_has_as_many_sums_however_many_are_pending() {
    const SHARDS: u64 = 20;
    const CONTENTS: u64 = 1_500;
    let (_directory, server) = prepared();
    let gateway = gateway(&server, &FakeStatistics::default());
    backlog(&server, SHARDS, CONTENTS);
    let (mut found, mut number) = (BTreeMap::<SumKey, Sum>::new(), 0);
    loop {
        number += 1;
        let (flight, has_more) = part(&gateway, number);
        // Three shards, the oldest first.
        let oldest = (number - 1) * 3 * CONTENTS;
        assert!(flight.sums.contains_key(&SumKey::Views(asked(oldest))), "flight {number}");
        assert!(flight.sums.len() <= FLIGHT_SUMS_MAX, "{} sums", flight.sums.len());
        if number == 1 {
            assert!(part(&gateway, 1) == (flight.clone(), true), "again the same");
        }
        for (key, sum) in flight.sums {
            assert_eq!(found.insert(key, sum), None, "twice");
        }
        remove(&gateway, number);
        let look = look(&gateway);
        assert_eq!((look.is_quiet(), is_drained(look)), (!has_more, !has_more), "{look:?}");
        if !has_more {
            break;
        }
    }
    let keys = |oid| [SumKey::Views(asked(oid)), SumKey::ViewsOn(asked(oid), day())];
    let expected = (0..SHARDS * CONTENTS).flat_map(|oid| keys(oid).map(|key| (key, Sum::of(oid as i64 + 1))));
    assert!(expected.collect::<BTreeMap<_, _>>() == found, "all are there");
    assert_eq!(number, 7);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_late_call_adds_nothing_to_a_flight() {
    let (_directory, server) = prepared();
    let [gateway, late] = [1_000, 1_000_000].map(|max| with_flights_of(&server, &FakeStatistics::default(), max));
    backlog(&server, 2, 400);
    let (flight, has_more) = part(&gateway, 10);
    assert_eq!((flight.sums.len(), has_more), (800, true));
    // Had it come first, it would have taken both.
    assert!(part(&late, 10).0 == flight, "it has grown");
    remove(&gateway, 10);
    assert!(part(&late, 10).0.sums.is_empty());
    let (rest, has_more) = part(&gateway, 20);
    assert_eq!((rest.sums.len(), has_more), (800, false));
    assert!(rest.sums.keys().all(|key| !flight.sums.contains_key(key)));
}

/// A gateway has reached one shard with it, and ended.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_flight_that_is_resumed_gets_nothing_more() {
    let (_directory, server) = prepared();
    let statistics = FakeStatistics::default();
    let gateway = gateway(&server, &statistics);
    backlog(&server, 2, 10);
    let _: String = ask(&server, &["RENAME", "{h0}:sp", "{h0}:sf"]);
    let _: u64 = ask(&server, &["HSET", "{h0}:s", "last", "10", "taken", "10", "held", "10", "began", "1"]);
    let _: u64 = ask(&server, &["HDEL", "{h0}:s", "since"]);
    let Ok(Taken::Part(flight)) = runtime().block_on(gateway.sums.resume(10)) else { panic!("it is not there") };
    assert_eq!(flight.sums.len(), 20);
    assert_eq!(part(&gateway, 10).0, flight, "the other shard is sealed");
    runtime().block_on(flush_until(&gateway, |gateway| gateway.metrics.flights.get() >= 2));
    assert!((0..20).all(|oid| statistics.total(asked(oid)) == oid as i64 + 1));
    assert!(is_drained(look(&gateway)), "two flights have everything");
}

/// A change counts in two generations of a counter at once, until they are compared.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn counters_are_not_compared_while_a_shard_was_left_out() {
    let (_directory, server) = prepared();
    let gateway = with_flights_of(&server, &FakeStatistics::default(), 1_000);
    for shard in 0..4 {
        let of = |generation: u64| (0..500).map(move |key| (format!("={generation}:viewers:{key}"), 1));
        put(&server, shard, "sc", of(1).chain(of(2)));
    }
    let mut drain = Drain::begin(look(&gateway));
    for number in 1..=4 {
        let (flight, has_more) = part(&gateway, number);
        assert_eq!((flight.sums.len(), has_more), (1_000, number < 4));
        remove(&gateway, number);
        let look = look(&gateway);
        assert_eq!((look.is_quiet(), drain.is_over(look)), (!has_more, !has_more), "{look:?}");
    }
}

/// A gateway has reached some shards with a flight, and ended. Nothing is pending any more.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_flight_that_not_all_shards_know_is_ended() {
    let (_directory, server) = prepared();
    let gateway = gateway(&server, &FakeStatistics::default());
    let _: u64 = ask(&server, &["HSET", "{h3}:s", "last", "10", "taken", "10"]);
    assert!(!look(&gateway).is_quiet());
    runtime().block_on(flush_until(&gateway, has_written));
    assert!(look(&gateway).is_quiet());
}

/// Begins a deletion, and goes on with this once it is only to be written.
pub fn while_deleting(server: &RedisServer, gateway: &Gateway, oid: u64, then: impl FnOnce()) {
    let own = Shards::DEFAULT.of_content(asked(oid)).0;
    let is_marked = || ask::<bool>(server, &["HEXISTS", &format!("{{h{own}}}:sp"), &format!("1:{oid}!")]);
    let views = gateway.views.clone();
    let deleting = thread::spawn(move || {
        runtime().block_on(async { timeout(PATIENCE, views.delete(asked(oid))).await.expect("it is written") })
    });
    let until = Instant::now() + PATIENCE;
    while !is_marked() {
        assert!(Instant::now() < until, "the deletion does not begin");
        thread::sleep(Duration::from_millis(1));
    }
    then();
    deleting.join().unwrap().unwrap();
}

/// In shards that are not its own, such as those of users.
pub const ELSEWHERE: [u64; 3] = [901, 902, 903];

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn views_after_a_deletion_count_though_flights_take_a_sum_each() {
    let (_directory, server) = prepared();
    let statistics = FakeStatistics::default();
    let gateway = with_flights_of(&server, &statistics, 1);
    let add = |by| {
        for shard in ELSEWHERE {
            put(&server, shard, "sp", views(1, by));
            put_day(&server, shard);
        }
    };
    count(&gateway, 1, asked(1), None);
    add(50);
    while_deleting(&server, &gateway, 1, || {
        let is_pending = |shard: &u64| ask::<bool>(&server, &["EXISTS", &format!("{{h{shard}}}:sp")]);
        assert!(!ELSEWHERE.iter().any(is_pending), "views from before");
        assert_eq!(count(&gateway, 1, asked(1), None).total, Some(1));
        add(2);
        runtime().block_on(flush_until(&gateway, |gateway| gateway.metrics.flights.get() >= 7));
    });
    let days = runtime().block_on(statistics.days(asked(1), day(), day())).unwrap();
    assert_eq!((statistics.total(asked(1)), days), (7, vec![(day(), 7)]));
    assert!(is_drained(look(&gateway)), "each sum had a flight");
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_deletion_is_in_no_flight_with_views_from_before() {
    let (_directory, server) = prepared();
    let statistics = FakeStatistics::default();
    let gateway = gateway(&server, &statistics);
    // A flight that has not reached the content's own shard yet.
    hold(&server, 901, "sf", views(1, 50));
    let _: u64 = ask(&server, &["HSET", "{h901}:s", "last", "50", "taken", "50", "held", "50", "began", "1"]);
    while_deleting(&server, &gateway, 1, || {
        let (flight, _) = part(&gateway, 50);
        let sum = flight.sums.get(&SumKey::Views(asked(1)));
        assert_eq!(sum, Some(&Sum::of(50)), "it reaches the shard after the deletion");
        runtime().block_on(flush_all(&gateway));
    });
    let days = runtime().block_on(statistics.days(asked(1), day(), day())).unwrap();
    assert_eq!((statistics.total(asked(1)), days), (0, Vec::new()));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_deletion_does_not_wait_for_a_backlog() {
    let (_directory, server) = prepared();
    let statistics = FakeStatistics::default();
    let gateway = with_flights_of(&server, &statistics, 100);
    backlog(&server, 40, 50);
    while_deleting(&server, &gateway, 1_000_000, || runtime().block_on(flush_all(&gateway)));
    let flights = statistics.asked();
    let deletion = flights[0].sums.get(&SumKey::Views(asked(1_000_000)));
    assert_eq!(deletion, Some(&Sum { restarts: true, by: 0 }), "the first flight has it");
    assert_eq!(flights.len(), 41);
}

/// Microseconds that scripts have taken in all.
pub fn in_scripts(server: &RedisServer) -> u64 {
    let stats: String = ask(server, &["INFO", "commandstats"]);
    let of = |line: &str| line.split("usec=").nth(1)?.split(',').next()?.parse::<u64>().ok();
    stats.lines().filter(|line| line.starts_with("cmdstat_eval")).filter_map(of).sum()
}

/// The best of three, since other work on the machine comes and goes.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_backlog_keeps_no_other_call_waiting() {
    const SCRIPTS_MICROS_MAX: u64 = 100_000;
    let tries: Vec<u64> =
        (0..3).map(|_| scripts_beside_a_backlog()).take_while(|took| *took >= SCRIPTS_MICROS_MAX).collect();
    assert!(tries.len() < 3, "scripts that keep all others waiting took {tries:?} µs");
}

/// How long the scripts of a deletion and a flight take together, in microseconds.
fn scripts_beside_a_backlog() -> u64 {
    const CONTENTS: u64 = 150_000;
    let (_directory, server) = prepared();
    let gateway = with_flights_of(&server, &FakeStatistics::default(), 1_000_000);
    backlog(&server, 1, CONTENTS);
    let (before, mut took) = (in_scripts(&server), 0);
    while_deleting(&server, &gateway, 5, || {
        let (flight, has_more) = part(&gateway, 10);
        let sum = |oid: u64| flight.sums.get(&SumKey::Views(asked(oid))).map(|sum| sum.by);
        assert_eq!((sum(0), sum(5), sum(CONTENTS - 1)), (Some(1), Some(0), Some(CONTENTS as i64)));
        assert_eq!(flight.sums.len() as u64, 2 * CONTENTS - 1, "less a day of what was deleted");
        assert!(!has_more);
        took = in_scripts(&server) - before;
        assert!(part(&gateway, 10).0 == flight, "again the same");
        remove(&gateway, 10);
    });
    assert!(part(&gateway, 20).0.sums.is_empty());
    took
}

/// Fails once, with the third write.
pub struct FailsOnce(pub FakeStatistics, pub AtomicUsize);

impl Statistics for FailsOnce {
    fn write(&self, flight: Arc<Flight>) -> Answer<Written> {
        match self.1.fetch_add(1, Ordering::Relaxed) {
            2 => Box::pin(async { Err(StatisticsAway("it is late".to_owned())) }),
            _ => self.0.write(flight),
        }
    }

    fn totals(&self, unit: Unit, contents: Vec<Content>) -> Answer<Vec<StoredTotal>> {
        self.0.totals(unit, contents)
    }

    fn days(&self, content: Content, from: Day, to: Day) -> Answer<Vec<(Day, u64)>> {
        self.0.days(content, from, to)
    }
}

/// Its first gateway ends where a write fails.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn another_gateway_goes_on_with_a_backlog() {
    const SHARDS: u64 = 10;
    const CONTENTS: u64 = 250;
    let (_directory, server) = prepared();
    let statistics = FakeStatistics::default();
    backlog(&server, SHARDS, CONTENTS);
    let failing = Arc::new(FailsOnce(statistics.clone(), AtomicUsize::new(0)));
    let first = Gateway::with_flights_of(&server.url(), failing, None, 1_000);
    runtime().block_on(flush_until(&first, |gateway| gateway.metrics.failures.get() > 0));
    assert_eq!(statistics.asked().len(), 2);
    runtime().block_on(first.flusher.give_up_turn());
    drop(first);
    let other = with_flights_of(&server, &statistics, 1_000);
    runtime().block_on(flush_all(&other));
    let written: Vec<usize> = statistics.asked().iter().map(|flight| flight.sums.len()).collect();
    assert_eq!(written, vec![1_000; 5], "nothing is written twice");
    let total = |oid| statistics.total(asked(oid));
    assert!((0..SHARDS * CONTENTS).all(|oid| total(oid) == oid as i64 + 1), "each counts once");
}
