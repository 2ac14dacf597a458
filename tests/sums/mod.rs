//! Views on the real path: gateways, each with its own connection, count in a real Redis over ways that are cut, and
//! write flights to a store that is away, slow, frozen, or loses answers. Every answer and every total is held to what
//! was asked.

pub mod backlog;
mod book;
mod cluster_backlog;
pub mod gateway;
mod parts;
mod players;
mod rules;

use crate::support::depth::depth;
use crate::support::redis_server;
use crate::{cutting_proxy, fake_statistics as statistics};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use heartline::domain::flights::flusher::LEASE;
use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::rewards::day::Day;
use heartline::model::sums::{Flight, Sum, SumKey, Unit};
use heartline::model::view::View;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::statistics::Statistics;
use heartline::storage::sums::{PendingSums, Taken};
use heartline::storage::views::Views;
use heartline::storage_redis::prepare::prepare;
use heartline::storage_redis::sums::FLIGHT_SUMS_MAX;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use redis_server::RedisServer;

use book::Book;
use cutting_proxy::{Cut, CuttingProxy, Targets};
use gateway::{Gateway, PLAYED, runtime};
use players::Players;
use statistics::{FakeStatistics, Fault};

const SEED: u64 = 36;
const GATEWAYS: u64 = 3;
const CONTENTS: u64 = 12;
/// So many of them are deleted now and then.
const DELETED: u64 = 3;
/// Contents from here on are counted by playback, in the shards of their users. The first is deleted now and then.
const FILMS: u64 = 10_000;
const FILMS_END: u64 = FILMS + 6;
const PATIENCE: Duration = Duration::from_secs(240);

/// How long the search is.
#[derive(Clone, Copy)]
struct Depth {
    /// Clients of each gateway, one request at a time each.
    clients: u64,
    /// Requests of each client.
    requests: u64,
    targets: Targets,
    /// What must have happened at least: cuts, flights, documents that were repeated, totals that were told, or were not
    /// known.
    least: [u64; 5],
}

const SHORT: Depth =
    Depth { clients: 4, requests: 120, targets: &[(b"EVALSHA", 0.02), (b"HMGET", 0.01)], least: [20, 5, 3, 200, 0] };
/// With more flights, of few sums each.
const SHORTER: Depth =
    Depth { requests: 60, targets: &[(b"EVALSHA", 0.012), (b"HMGET", 0.006)], least: [5, 10, 1, 100, 0], ..SHORT };
const DEEP: Depth = Depth {
    clients: 8,
    requests: 500,
    targets: &[(b"EVALSHA", 0.004), (b"HMGET", 0.002)],
    least: [5, 31, 21, 1_001, 11],
};

fn content(oid: u64) -> Content {
    Content { kind: if oid < FILMS { 1 } else { PLAYED }, oid }
}

fn oids() -> impl Iterator<Item = u64> {
    (0..CONTENTS).chain(FILMS..FILMS_END)
}

fn is_deleted(oid: u64) -> bool {
    oid < DELETED || oid == FILMS
}

pub fn day() -> Day {
    Day::of_number(20_000)
}

pub fn prepared() -> (tempfile::TempDir, RedisServer) {
    let directory = tempfile::tempdir().unwrap();
    let server = RedisServer::start(directory.path());
    prepare(&RedisConfig::strict(&server.url())).unwrap();
    (directory, server)
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn whatever_is_cut_or_away_each_view_counts_once() {
    let cuts = views_count_once_in_flights_of(FLIGHT_SUMS_MAX, SHORT);
    assert!(cuts.iter().all(|count| *count > 0), "it is cut in every way");
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn in_flights_with_room_for_few_sums_each_view_counts_once_too() {
    views_count_once_in_flights_of(8, SHORTER);
}

/// Returns how often connections were cut, by where.
fn views_count_once_in_flights_of(sums_max: usize, short: Depth) -> [u64; Cut::ALL.len()] {
    let depth = depth(short, DEEP);
    eprintln!("seed {SEED}, {} requests of each client", depth.requests);
    let (_directory, server) = prepared();
    let (statistics, book) = (FakeStatistics::default(), Arc::new(Book::default()));
    let proxies: Vec<_> =
        (1..=GATEWAYS).map(|number| CuttingProxy::start(server.port(), depth.targets, SEED * number)).collect();
    let urls: Vec<String> = proxies.iter().map(|proxy| format!("redis://127.0.0.1:{}", proxy.port())).collect();
    let interval = Some(Duration::from_millis(30));
    let start = |url: &String| Gateway::with_flights_of(url, Arc::new(statistics.clone()), interval, sums_max);
    let gateways: Vec<Gateway> = urls.iter().map(start).collect();
    let players: Vec<Players> = urls.iter().map(|url| Players::new(url, day())).collect();
    let done = AtomicBool::new(false);
    let (reads, unknown) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| disturb(&statistics, &done));
        let clients = (0..GATEWAYS * depth.clients).map(|number| {
            let (views, book) = (gateways[(number % GATEWAYS) as usize].views.clone(), book.clone());
            let (reads, unknown) = (&reads, &unknown);
            scope.spawn(move || ask(&*views, &book, (number, depth.requests), reads, unknown))
        });
        let mut clients: Vec<_> = clients.collect();
        clients.extend(gateways.iter().zip(&players).zip(0..).map(|((gateway, players), number)| {
            let (views, book) = (gateway.views.clone(), book.clone());
            scope.spawn(move || watch(&*views, players, &book, (number, depth.requests)))
        }));
        let ended: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        done.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(|client| client.unwrap());
    });
    wait_until_written(&gateways);
    for oid in oids() {
        let expected = book.expected(oid, book.step(), book.step());
        let days = runtime().block_on(statistics.days(content(oid), day(), day())).unwrap();
        let of_day = days.first().map_or(0, |(_, views)| *views);
        assert_eq!(of_day, statistics.total(content(oid)) as u64, "day and total of {oid}");
        assert!(expected.contains(&of_day), "{oid}: {of_day} views are stored, {expected:?} were counted");
        assert!(is_deleted(oid) || expected.start() == expected.end(), "what is not deleted is known exactly");
        if oid < FILMS {
            assert_eq!(told(&gateways[0], oid), of_day, "the total of {oid} that is told and the one that is stored");
        }
    }
    let cuts = Cut::ALL.map(|cut| proxies.iter().map(|proxy| proxy.cuts(cut)).sum::<u64>());
    let sum = |of: fn(&Gateway) -> u64| gateways.iter().map(of).sum::<u64>();
    let (flights, repeats) =
        (sum(|gateway| gateway.metrics.flights.get()), sum(|gateway| gateway.metrics.repeats.get()));
    let (reads, unknown) = (reads.into_inner(), unknown.into_inner());
    eprintln!("{cuts:?} cuts, {flights} flights, {repeats} repeats, {reads} totals read, {unknown} unknown");
    let happened = [cuts.iter().sum(), flights, repeats, reads, unknown];
    assert!(happened.iter().zip(depth.least).all(|(count, least)| *count >= least), "{happened:?}");
    cuts
}

/// The way to Redis may be cut meanwhile.
fn told(gateway: &Gateway, oid: u64) -> u64 {
    let until = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < until, "the total of {oid} is not known");
        if let Ok([Some(total)]) = runtime().block_on(gateway.views.totals(vec![content(oid)])).as_deref() {
            return *total;
        }
    }
}

/// A client asks, and holds each answer to the book. What is not answered is asked again.
fn ask(views: &dyn Views, book: &Book, (number, requests): (u64, u64), reads: &AtomicU64, unknown: &AtomicU64) {
    let (mut rng, runtime) = (SmallRng::seed_from_u64(SEED * 1_000 + number), runtime());
    for request in 0..requests {
        let oid = rng.random_range(0..CONTENTS);
        match rng.random_range(0..100) {
            0 if is_deleted(oid) => {
                let entry = book.deletion_asked(oid);
                while runtime.block_on(views.delete(content(oid))).is_err() {}
                book.deletion_answered(entry);
            }
            0..40 => {
                let asked = book.step();
                let Ok(totals) = runtime.block_on(views.totals(vec![content(oid)])) else { continue };
                let Some(total) = totals[0] else {
                    unknown.fetch_add(1, Ordering::Relaxed);
                    continue;
                };
                let expected = book.expected(oid, asked, book.step());
                assert!(expected.contains(&total), "{total} views of {oid} are told, {expected:?} were counted");
                reads.fetch_add(1, Ordering::Relaxed);
            }
            _ => {
                let session = Some(SessionId(request));
                let view = View { user: UserId(number), content: content(oid), session, day: day() };
                let entry = book.view_asked(oid);
                let viewed = loop {
                    match runtime.block_on(views.count(view)) {
                        Ok(viewed) => break viewed,
                        // The next attempt may find its mark.
                        Err(_) => continue,
                    }
                };
                let step = book.step();
                book.view_answered(entry);
                if let Some(total) = viewed.total {
                    let expected = book.expected(oid, step, book.step());
                    assert!(total <= *expected.end(), "{total} views of {oid} are told, {expected:?} were counted");
                }
            }
        }
    }
}

/// Users watch films, each another one and of another shard.
fn watch(views: &dyn Views, players: &Players, book: &Book, (number, requests): (u64, u64)) {
    let (mut rng, runtime) = (SmallRng::seed_from_u64(SEED * 2_000 + number), runtime());
    for request in 0..requests {
        let oid = rng.random_range(FILMS..FILMS_END);
        if oid == FILMS && rng.random_bool(0.05) {
            let entry = book.deletion_asked(oid);
            while runtime.block_on(views.delete(content(oid))).is_err() {}
            book.deletion_answered(entry);
        }
        let (entry, user) = (book.view_asked(oid), UserId(1 + number * requests + request));
        assert_eq!(runtime.block_on(players.play(user, content(oid))), 1);
        book.view_answered(entry);
        let asked = book.step();
        let Ok(totals) = runtime.block_on(views.totals(vec![content(oid)])) else { continue };
        // Views come with the flights.
        let most = *book.expected(oid, asked, book.step()).end();
        assert!(totals[0].is_none_or(|total| total <= most), "{totals:?} views of {oid}, {most} were counted");
    }
}

/// Faults of the store, one after the other.
fn disturb(statistics: &FakeStatistics, done: &AtomicBool) {
    let mut rng = SmallRng::seed_from_u64(SEED);
    while !done.load(Ordering::Relaxed) {
        statistics.fail(match rng.random_range(0..8) {
            0 => Fault::Away,
            1 => Fault::LostAnswers,
            2 => Fault::Half,
            3 => Fault::Frozen,
            4 => Fault::Delayed(Duration::from_millis(20)),
            _ => Fault::Nothing,
        });
        thread::sleep(Duration::from_millis(rng.random_range(20..200)));
    }
    statistics.recover();
}

/// Also of contents that were deleted: a flight that is under way would be found in half of what is read.
fn wait_until_written(gateways: &[Gateway]) {
    let until = Instant::now() + PATIENCE;
    let runtime = runtime();
    // The way to Redis may still be cut: then it is asked again.
    let is_written = |gateway: &Gateway| {
        runtime.block_on(gateway.sums.look()).is_ok_and(|look| look.oldest.is_none() && look.held.is_none())
    };
    while !gateways.iter().any(is_written) {
        assert!(Instant::now() < until, "views are missing in the store");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn two_gateways_that_remember_a_total_at_once_lose_no_view() {
    const ROUNDS: u64 = 1_000;
    let (_directory, server) = prepared();
    let statistics = FakeStatistics::default();
    let stored = Flight {
        unit: Unit::ALL,
        number: 1,
        sums: (0..ROUNDS).map(|oid| (SumKey::Views(content(oid)), Sum::of(5))).collect(),
    };
    runtime().block_on(statistics.write(Arc::new(stored))).unwrap();
    let gateways =
        [1, 2].map(|_| Gateway::start(&server.url(), Arc::new(statistics.clone()), Some(Duration::from_millis(5))));
    let runtime = runtime();
    for oid in 0..ROUNDS {
        let view = |user| View { user: UserId(user), content: content(oid), session: None, day: day() };
        let [one, two] = [0, 1].map(|number| gateways[number].views.count(view(number as u64)));
        let (one, two) = runtime.block_on(async { tokio::join!(one, two) });
        let mut told = [one, two].map(|viewed| viewed.unwrap().total.unwrap());
        told.sort_unstable();
        assert_eq!(told, [6, 7], "of {oid}");
    }
    let totals = runtime.block_on(gateways[0].views.totals((0..ROUNDS).map(content).collect())).unwrap();
    assert_eq!(totals, vec![Some(7); ROUNDS as usize]);
    let until = Instant::now() + PATIENCE;
    while (0..ROUNDS).any(|oid| statistics.total(content(oid)) != 7) {
        let degraded = gateways.each_ref().map(|gateway| gateway.flusher.degraded());
        assert!(Instant::now() < until, "views are missing in the store: {degraded:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_deletion_does_not_wait_for_the_gateway_whose_turn_it_is() {
    let (_directory, server) = prepared();
    let statistics = FakeStatistics::default();
    // After its first look each of them has an hour until the next one.
    let start = || Gateway::start(&server.url(), Arc::new(statistics.clone()), Some(Duration::from_hours(1)));
    let (one, other) = (start(), start());
    let runtime = runtime();
    for oid in 0..4 {
        for gateway in [&one, &other] {
            let view = View { user: UserId(1), content: content(oid), session: None, day: day() };
            assert!(runtime.block_on(gateway.views.count(view)).unwrap().counted);
            let deleted = async { tokio::time::timeout(LEASE, gateway.views.delete(content(oid))).await };
            runtime.block_on(deleted).expect("before the turn of any gateway ends").unwrap();
            assert_eq!(runtime.block_on(gateway.views.totals(vec![content(oid)])).unwrap(), [Some(0)]);
        }
    }
    let flights = [&one, &other].map(|gateway| gateway.metrics.flights.get());
    assert!(flights.iter().all(|flights| *flights > 0), "{flights:?}");
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_deletion_waits_for_a_flight_of_another_gateway_and_is_in_the_next_one() {
    /// For a gateway that would send the flight of the other.
    const STANDSTILL: Duration = Duration::from_millis(500);
    let (_directory, server) = prepared();
    let statistics = FakeStatistics::default();
    let start = || Gateway::start(&server.url(), Arc::new(statistics.clone()), Some(Duration::from_hours(1)));
    let gateways = [start(), start()];
    statistics.fail(Fault::Frozen);
    thread::scope(|scope| {
        let delete = |number: usize| {
            let views = gateways[number].views.clone();
            let deleted = async move { tokio::time::timeout(LEASE, views.delete(content(number as u64))).await };
            scope.spawn(move || runtime().block_on(deleted))
        };
        let first = delete(0);
        let until = Instant::now() + PATIENCE;
        while statistics.asked().is_empty() {
            assert!(Instant::now() < until, "no flight begins");
            thread::sleep(Duration::from_millis(5));
        }
        let second = delete(1);
        thread::sleep(STANDSTILL);
        assert_eq!(statistics.asked().len(), 1);
        statistics.recover();
        for deletion in [first, second] {
            deletion.join().unwrap().expect("before the turn of any gateway ends").unwrap();
        }
    });
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_deletion_is_in_the_flight_after_one_whose_gateway_is_gone() {
    let (_directory, server) = prepared();
    let statistics = FakeStatistics::default();
    let start = |flights| Gateway::start(&server.url(), Arc::new(statistics.clone()), flights);
    let (gone, other) = (start(None), start(Some(Duration::from_hours(1))));
    let runtime = runtime();
    // Its first look is over then, and it looks again when it is asked to.
    runtime.block_on(other.views.delete(content(2))).unwrap();
    let view = View { user: UserId(1), content: content(0), session: None, day: day() };
    assert!(runtime.block_on(gone.views.count(view)).unwrap().counted);
    let number = runtime.block_on(gone.sums.look()).unwrap().last + 1;
    assert!(matches!(runtime.block_on(gone.sums.take(number)), Ok(Taken::Flight(_))));
    let deleted = async { tokio::time::timeout(PATIENCE, other.views.delete(content(1))).await };
    runtime.block_on(deleted).expect("its flight follows at once").unwrap();
    assert_eq!((statistics.total(content(0)), other.metrics.taken_over.get()), (1, 1));
}
