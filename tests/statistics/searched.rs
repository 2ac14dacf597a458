//! A search: flights with all that can happen to them, and what the store has then.

use std::collections::BTreeMap;
use std::sync::Arc;

use heartline::model::rewards::day::Day;
use heartline::model::sums::{Flight, FlightNumber, Sum, SumKey, Unit};
use heartline::storage::statistics::Statistics;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::statistics::searched_counters::Numbers;
use crate::statistics::words::*;

/// Names the seed to look at again.
const SEED: &str = "HEARTLINE_TEST_SEED";
const FLIGHTS: u64 = 150;
const UNITS: [Unit; 2] = [Unit(0), Unit(1)];
/// Of these the first unit's flights may restart, and only they count them.
const RESTARTED: u64 = 4;
const CONTENTS: u64 = 8;
/// From 2026-11-20 on, so that they lie in five months and two years.
const DAYS: u16 = 120;

/// By the definition.
#[derive(Default)]
struct Expected {
    total: i64,
    days: BTreeMap<Day, u64>,
}

fn some_day(dice: &mut StdRng) -> Day {
    Day::of_number(day("2026-11-20").number() + dice.random_range(0..DAYS))
}

fn some_flight(dice: &mut StdRng, unit: Unit, number: FlightNumber, expected: &mut [Expected]) -> Flight {
    let mut flight = Flight::new(unit, number);
    for (oid, expected) in (0..).zip(expected) {
        let is_own = unit == UNITS[0] || oid >= RESTARTED;
        if !is_own || dice.random_bool(0.4) {
            continue;
        }
        let restarts = oid < RESTARTED && dice.random_bool(0.15);
        if restarts {
            *expected = Expected::default();
            flight.join([(SumKey::Views(content(oid)), Sum { restarts, by: 0 })]);
        }
        for _ in 0..dice.random_range(0..4) {
            let (on, by) = (some_day(dice), dice.random_range(1..5));
            flight.join([(SumKey::Views(content(oid)), Sum::of(by)), (SumKey::ViewsOn(content(oid), on), Sum::of(by))]);
            expected.total += by;
            *expected.days.entry(on).or_default() += by as u64;
        }
    }
    flight
}

fn compare(store: &impl Statistics, expected: &[Expected], seed: u64) {
    let totals = totals(store, &(0..CONTENTS).collect::<Vec<_>>());
    assert_eq!(totals, expected.iter().map(|expected| expected.total).collect::<Vec<_>>(), "seed {seed}");
    for (oid, expected) in (0..).zip(expected) {
        let days: Vec<_> = expected.days.iter().map(|(day, views)| (day.to_string(), *views)).collect();
        assert_eq!(crate::statistics::words::days(store, oid), days, "seed {seed}, content {oid}");
    }
}

pub fn flights_with_repeats_and_late_writers_give_the_same<B: Backend>() {
    let seed = std::env::var(SEED).map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    println!("{SEED}={seed}");
    let mut dice = StdRng::seed_from_u64(seed);
    let backend = B::new();
    let stores = [backend.open(), backend.open()];
    let mut expected: Vec<Expected> = (0..CONTENTS).map(|_| Expected::default()).collect();
    let mut counters = Numbers::new();
    let mut written: Vec<Arc<Flight>> = Vec::new();
    let mut numbers = [0; UNITS.len()];
    for _ in 0..FLIGHTS {
        let unit = dice.random_range(0..UNITS.len());
        numbers[unit] += dice.random_range(1..1_000);
        let mut flight = some_flight(&mut dice, UNITS[unit], numbers[unit], &mut expected);
        flight.join(counters.some(&mut dice));
        let flight = Arc::new(flight);
        for _ in 0..dice.random_range(1..=2) {
            write(&stores[dice.random_range(0..2)], &flight);
        }
        written.push(flight);
        // Somebody who stood still goes on.
        if dice.random_bool(0.5) {
            let late = &written[dice.random_range(0..written.len())];
            write(&stores[dice.random_range(0..2)], late);
        }
        if dice.random_bool(0.1) {
            compare(&stores[dice.random_range(0..2)], &expected, seed);
            counters.compare(&stores[dice.random_range(0..2)], seed);
        }
    }
    compare(&stores[0], &expected, seed);
    counters.compare(&stores[1], seed);
}
