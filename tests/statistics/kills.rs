//! A server that is killed in the middle of what is written, and comes back; and one that answers as mongod may.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use heartline::model::sums::{Flight, StoredTotal};
use heartline::storage::statistics::{Statistics, Written};
use heartline::storage_mongodb::MongoStatistics;

use crate::statistics::mongo::OnMongo;
use crate::statistics::mongo_server::MongoServer;
use crate::statistics::words::*;

const CONTENTS: u64 = 400;
const KILLS: u64 = 4;
/// Written before each kill.
const BETWEEN: u64 = 5;

/// Flights that follow each other, each with a view of every content, and a number of a counter for it.
#[derive(Default)]
struct Flights {
    written: AtomicU64,
    failed: AtomicU64,
    over: AtomicBool,
}

impl Flights {
    fn of(number: u64) -> Arc<Flight> {
        let sums = (0..CONTENTS).flat_map(|oid| {
            [views(oid, 1), views_on(oid, "2026-11-22", 1), counter(3, "viewers", &["1", &oid.to_string()], 1)]
        });
        flight(number, &sums.collect::<Vec<_>>())
    }

    /// Each again until it is known to be written.
    fn write(&self, store: &MongoStatistics) {
        while !self.over.load(Ordering::Relaxed) {
            let next = self.written.load(Ordering::Relaxed) + 1;
            while wait(store.write(Flights::of(next))).is_err() {
                self.failed.fetch_add(1, Ordering::Relaxed);
            }
            self.written.store(next, Ordering::Relaxed);
        }
    }

    /// As one who does not know that another writes, and is behind.
    fn repeat(&self, store: &MongoStatistics) {
        while !self.over.load(Ordering::Relaxed) {
            let last = self.written.load(Ordering::Relaxed);
            if last > 0 {
                let _ = wait(store.write(Flights::of(last)));
            }
        }
    }
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn sums_are_exact_after_kills_in_the_middle_of_flights() {
    let mut server = MongoServer::start();
    let database = OnMongo::at(&server.url());
    let (store, other) = (database.opened().unwrap(), database.opened().unwrap());
    let flights = Flights::default();
    thread::scope(|scope| {
        scope.spawn(|| flights.write(&store));
        scope.spawn(|| flights.repeat(&other));
        for kill in 1..=KILLS {
            until("flights are written", || flights.written.load(Ordering::Relaxed) >= kill * BETWEEN);
            let failed = flights.failed.load(Ordering::Relaxed);
            server.kill();
            until("a flight fails", || flights.failed.load(Ordering::Relaxed) > failed);
            server.start_again();
        }
        until("flights are written", || flights.written.load(Ordering::Relaxed) >= (KILLS + 1) * BETWEEN);
        flights.over.store(true, Ordering::Relaxed);
    });
    let written = flights.written.load(Ordering::Relaxed);
    let expected = StoredTotal { total: written as i64, flight: written };
    let all: Vec<u64> = (0..CONTENTS).collect();
    for (oid, stored) in all.iter().zip(stored(&store, ALL, &all)) {
        assert_eq!(stored, expected, "{oid}");
    }
    for oid in all {
        assert_eq!(days(&store, oid), told(&[("2026-11-22", written)]), "{oid}");
        assert_eq!(counted(&store, 3, "viewers", &[&["1", &oid.to_string()]]), [written as i64], "{oid}");
    }
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn what_was_answered_survives_a_kill_at_once() {
    let mut server = MongoServer::start();
    let store = OnMongo::at(&server.url()).opened().unwrap();
    for number in 1..=3 {
        write(&store, &flight(number, &[views(1, 1), views_on(1, "2026-11-22", 1)]));
        server.kill();
        server.start_again();
        assert_eq!(stored(&store, ALL, &[1]), [StoredTotal { total: number as i64, flight: number }]);
        assert_eq!(days(&store, 1), told(&[("2026-11-22", number)]));
    }
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn a_document_that_another_makes_at_the_same_time_is_tried_again() {
    let server = MongoServer::start_with(&["races"]);
    let store = OnMongo::at(&server.url()).opened().unwrap();
    let number = |by| counter(3, "viewers", &["1"], by);
    let first = flight(1, &[views(1, 3), views(2, 4), views_on(1, "2026-11-22", 3), number(6)]);
    assert_eq!(write_new(&store, &first), 4);
    // One that is there, one that is made.
    let second = flight(2, &[views(1, 1), views(3, 5), number(-2)]);
    assert_eq!(write_new(&store, &second), 3);
    assert_eq!(write(&store, &second), Written { documents: 3, repeats: 3 });
    assert_eq!(counted(&store, 3, "viewers", &[&["1"]]), [4]);
    assert_eq!(totals(&store, &[1, 2, 3]), [4, 4, 5]);
    assert_eq!(days(&store, 1), told(&[("2026-11-22", 3)]));
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn what_no_majority_has_is_not_known_to_be_written() {
    let server = MongoServer::start_with(&["loses.majority"]);
    let store = OnMongo::at(&server.url()).opened().unwrap();
    let mut failed = 0;
    for number in 1..=6 {
        let flight = flight(number, &[views(1, 1), views_on(1, "2026-11-22", 1)]);
        until("the flight is known to be written", || match wait(store.write(flight.clone())) {
            Ok(_) => true,
            Err(away) => {
                assert!(away.0.contains("not known to be durable"), "{away}");
                failed += 1;
                false
            }
        });
    }
    assert!(failed >= 6, "{failed}");
    assert_eq!((totals(&store, &[1]), days(&store, 1)), (vec![6], told(&[("2026-11-22", 6)])));
}
