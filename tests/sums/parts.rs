//! Shards that have more pending than one flight has room for give it in parts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use heartline::model::sums::{Sum, SumKey};
use heartline::storage::statistics::Statistics;
use heartline::storage_redis::sums::{FLIGHT_SUMS_MAX, PART_SUMS};

use crate::sums::backlog::{
    ELSEWHERE, FailsOnce, ask, asked, flush_all, in_scripts, is_drained, look, part, put, put_day, remove, views,
    while_deleting, with_flights_of,
};
use crate::sums::gateway::{Gateway, runtime};
use crate::sums::rules::{flush_until, gateway, has_written};
use crate::sums::statistics::FakeStatistics;
use crate::sums::{day, prepared};

/// Of one flight. On a quiet machine they take less than 20,000.
const SCRIPTS_MICROS_MAX: u64 = 200_000;

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn shards_that_have_more_than_a_flight_give_parts() {
    const VIEWS: u64 = 40_000;
    const COUNTERS: u64 = 10_000;
    const ELSEWHERE: u64 = 12_000;
    let (_directory, server) = prepared();
    let gateway = gateway(&server, &FakeStatistics::default());
    put(&server, 7, "sp", (0..VIEWS).map(|oid| (format!("1:{oid}"), oid + 1)));
    put(&server, 7, "sc", (0..COUNTERS).map(|key| (format!("=3:viewers:{key}"), key + 1)));
    put(&server, 8, "sp", (VIEWS..VIEWS + ELSEWHERE).map(|oid| (format!("1:{oid}"), oid + 1)));
    let (mut found, mut number, mut longest) = (BTreeMap::<SumKey, i64>::new(), 0, 0);
    loop {
        number += 1;
        let before = in_scripts(&server);
        let (flight, has_more) = part(&gateway, number);
        longest = longest.max(in_scripts(&server) - before);
        assert!(!flight.sums.is_empty() && flight.sums.len() <= FLIGHT_SUMS_MAX, "{} sums", flight.sums.len());
        if number == 1 {
            assert_eq!(flight.sums.len(), 2 * PART_SUMS, "a part of each");
            let of_counters = flight.sums.keys().filter(|key| matches!(key, SumKey::Counter(_))).count();
            assert_eq!(of_counters, PART_SUMS / 2, "neither waits for the other");
            // What is counted meanwhile is in a later flight.
            let _: u64 = ask(&server, &["HINCRBY", "{h7}:sp", "1:0", "1000000"]);
            assert!(part(&gateway, 1) == (flight.clone(), true), "again the same");
        }
        for (key, sum) in flight.sums {
            *found.entry(key).or_default() += sum.by;
        }
        remove(&gateway, number);
        let look = look(&gateway);
        assert_eq!((look.is_quiet(), is_drained(look)), (!has_more, !has_more), "{look:?}");
        if !has_more {
            break;
        }
    }
    let views = (0..VIEWS + ELSEWHERE).map(|oid| found.remove(&SumKey::Views(asked(oid))));
    let expected = (1..=(VIEWS + ELSEWHERE) as i64).map(|by| Some(if by == 1 { 1_000_001 } else { by }));
    assert!(views.eq(expected), "each once");
    let counters = (found.len() as u64, found.values().sum::<i64>());
    assert_eq!(counters, (COUNTERS, (1..=COUNTERS as i64).sum()));
    assert!(longest < SCRIPTS_MICROS_MAX, "scripts of one flight keep all others waiting for {longest} µs");
}

/// A part has the views of a content, and its days wait.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_deletion_between_two_parts_takes_along_what_has_stayed() {
    let (_directory, server) = prepared();
    let statistics = FakeStatistics::default();
    let gateway = with_flights_of(&server, &statistics, 1);
    for shard in ELSEWHERE {
        put(&server, shard, "sp", views(1, 50));
        put_day(&server, shard);
    }
    let (flight, has_more) = part(&gateway, 1);
    assert_eq!((flight.sums.get(&SumKey::Views(asked(1))), flight.sums.len(), has_more), (Some(&Sum::of(50)), 1, true));
    runtime().block_on(statistics.write(Arc::new(flight))).unwrap();
    remove(&gateway, 1);
    while_deleting(&server, &gateway, 1, || {
        put(&server, ELSEWHERE[0], "sp", views(1, 3));
        put_day(&server, ELSEWHERE[0]);
        runtime().block_on(flush_all(&gateway));
    });
    let days = runtime().block_on(statistics.days(asked(1), day(), day())).unwrap();
    assert_eq!((statistics.total(asked(1)), days), (3, vec![(day(), 3)]));
}

/// A deletion and what is pending of its content are in one flight, however much else the shard has.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_shard_with_a_deletion_gives_all() {
    let (_directory, server) = prepared();
    let statistics = FakeStatistics::default();
    let gateway = with_flights_of(&server, &statistics, 1);
    while_deleting(&server, &gateway, 1, || {
        let marked = (0..1_000).find(|shard| ask::<bool>(&server, &["EXISTS", &format!("{{h{shard}}}:sp")]));
        let own = marked.expect("a shard with the mark");
        put(&server, own, "sp", views(1, 3).into_iter().chain((10..100).flat_map(|oid| views(oid, 1))));
        put_day(&server, own);
        let (flight, has_more) = part(&gateway, 1_000_000);
        assert_eq!((flight.sums.len(), has_more), (182, false));
        assert_eq!(flight.sums.get(&SumKey::Views(asked(1))), Some(&Sum { restarts: true, by: 3 }));
        runtime().block_on(flush_all(&gateway));
    });
    let days = runtime().block_on(statistics.days(asked(1), day(), day())).unwrap();
    assert_eq!((statistics.total(asked(1)), days), (3, vec![(day(), 3)]));
}

/// Only one with a deletion is that long.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn what_was_written_of_a_long_flight_is_not_written_again() {
    let (_directory, server) = prepared();
    let statistics = FakeStatistics::default();
    let failing = Arc::new(FailsOnce(statistics.clone(), AtomicUsize::new(0)));
    let gateway = Gateway::start(&server.url(), failing, None);
    put(&server, 7, "sp", (0..25_000).map(|oid| (format!("1:{oid}"), oid + 1)));
    let _: u64 = ask(&server, &["HSET", "{h7}:s", "urgent", "1"]);
    runtime().block_on(flush_until(&gateway, has_written));
    let parts: Vec<usize> = statistics.asked().iter().map(|flight| flight.sums.len()).collect();
    assert_eq!((parts, gateway.metrics.failures.get()), (vec![10_000, 10_000, 5_000], 1));
    assert_eq!([0, 24_999].map(|oid| statistics.total(asked(oid))), [1, 25_000]);
    assert!(is_drained(look(&gateway)));
}
