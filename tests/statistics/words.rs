//! Short ways to say what is written, and to wait for the answer.

use std::future::Future;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use heartline::model::counters::{CounterId, CounterKey};
use heartline::model::ids::Content;
use heartline::model::rewards::day::Day;
use heartline::model::sums::{CounterSum, Flight, FlightNumber, StoredTotal, Sum, SumKey, Unit};
use heartline::storage::statistics::{CounterStatistics, Statistics, Written};

use crate::statistics::PATIENCE;
use crate::statistics::statistics::FakeStatistics;

/// Documents of a test's own.
pub trait Backend {
    type Store: CounterStatistics;

    fn new() -> Self;

    /// A client of its own, as another gateway would have.
    fn open(&self) -> Self::Store;
}

impl Backend for FakeStatistics {
    type Store = Self;

    fn new() -> Self {
        FakeStatistics::default()
    }

    fn open(&self) -> Self {
        self.clone()
    }
}

pub const ALL: Unit = Unit::ALL;

pub fn content(oid: u64) -> Content {
    Content { kind: 1, oid }
}

pub fn day(text: &str) -> Day {
    text.parse().unwrap()
}

pub fn views(oid: u64, by: i64) -> (SumKey, Sum) {
    (SumKey::Views(content(oid)), Sum::of(by))
}

pub fn views_on(oid: u64, on: &str, by: i64) -> (SumKey, Sum) {
    (SumKey::ViewsOn(content(oid), day(on)), Sum::of(by))
}

/// The content was deleted, and had so many views after that.
pub fn restart(oid: u64, by: i64) -> (SumKey, Sum) {
    (SumKey::Views(content(oid)), Sum { restarts: true, by })
}

pub fn key(parts: &[&str]) -> CounterKey {
    CounterKey::of(parts.iter().copied()).unwrap()
}

/// What a key of a counter changes by.
pub fn counter(generation: u32, id: &str, parts: &[&str], by: i64) -> (SumKey, Sum) {
    let sum = CounterSum { generation, id: id.parse().unwrap(), key: key(parts) };
    (SumKey::Counter(sum), Sum::of(by))
}

pub fn flight(number: FlightNumber, sums: &[(SumKey, Sum)]) -> Arc<Flight> {
    flight_of(ALL, number, sums)
}

pub fn flight_of(unit: Unit, number: FlightNumber, sums: &[(SumKey, Sum)]) -> Arc<Flight> {
    let mut flight = Flight::new(unit, number);
    flight.join(sums.iter().cloned());
    Arc::new(flight)
}

pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Again while the store is away, as its callers do: a busy machine lets a write wait for too long.
pub fn write(store: &impl Statistics, flight: &Arc<Flight>) -> Written {
    answered("the flight is written", || wait(store.write(flight.clone())))
}

/// The number of its documents. None of them had the flight before, which can be told if the first answer came.
pub fn write_new(store: &impl Statistics, flight: &Arc<Flight>) -> usize {
    match wait(store.write(flight.clone())) {
        Ok(Written { documents, repeats }) => {
            assert_eq!(repeats, 0);
            documents
        }
        Err(away) => {
            eprintln!("{away}");
            write(store, flight).documents
        }
    }
}

pub fn totals(store: &impl Statistics, oids: &[u64]) -> Vec<i64> {
    stored(store, ALL, oids).into_iter().map(|stored| stored.total).collect()
}

pub fn stored(store: &impl Statistics, unit: Unit, oids: &[u64]) -> Vec<StoredTotal> {
    let contents: Vec<Content> = oids.iter().copied().map(content).collect();
    answered("totals are read", || wait(store.totals(unit, contents.clone())))
}

/// The numbers of keys, which are given as their parts.
pub fn counted(store: &impl CounterStatistics, generation: u32, id: &str, keys: &[&[&str]]) -> Vec<i64> {
    let id: CounterId = id.parse().unwrap();
    let keys: Vec<CounterKey> = keys.iter().map(|parts| key(parts)).collect();
    answered("numbers are read", || wait(store.counter_values(generation, id.clone(), keys.clone())))
}

/// All days there are.
pub fn days(store: &impl Statistics, oid: u64) -> Vec<(String, u64)> {
    days_from(store, oid, "2020-01-01", "2029-12-31")
}

pub fn days_from(store: &impl Statistics, oid: u64, from: &str, to: &str) -> Vec<(String, u64)> {
    let days = answered("days are read", || wait(store.days(content(oid), day(from), day(to))));
    days.into_iter().map(|(day, views)| (day.to_string(), views)).collect()
}

pub fn told(days: &[(&str, u64)]) -> Vec<(String, u64)> {
    days.iter().map(|(day, views)| ((*day).to_owned(), *views)).collect()
}

pub fn answered<T, E: std::fmt::Display>(what: &str, mut ask: impl FnMut() -> Result<T, E>) -> T {
    let mut answer = None;
    until(what, || {
        answer = ask().inspect_err(|away| eprintln!("{away}")).ok();
        answer.is_some()
    });
    answer.unwrap()
}

/// Waits for what was promised.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not in {PATIENCE:?}: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}
