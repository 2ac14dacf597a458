//! Flights of different units do not know each other.

use std::thread;

use heartline::model::sums::{StoredTotal, Unit};

use crate::statistics::words::*;

const OTHER: Unit = Unit(7);

pub fn their_numbers_are_independent<B: Backend>() {
    let store = B::new().open();
    write(&store, &flight(1_000, &[views(1, 1), views_on(1, "2026-11-22", 1)]));
    let lower = flight_of(OTHER, 3, &[views(1, 10), views_on(1, "2026-11-22", 10)]);
    assert_eq!(write(&store, &lower).repeats, 0);
    assert_eq!(write(&store, &lower).repeats, 2);
    assert_eq!(stored(&store, ALL, &[1]), [StoredTotal { total: 11, flight: 1_000 }]);
    assert_eq!(stored(&store, OTHER, &[1]), [StoredTotal { total: 11, flight: 3 }]);
    assert_eq!(stored(&store, Unit(70), &[1]), [StoredTotal { total: 11, flight: 0 }]);
    assert_eq!(days(&store, 1), told(&[("2026-11-22", 11)]));
}

pub fn they_may_make_a_document_at_the_same_time<B: Backend>() {
    const CONTENTS: u64 = 1_000;
    let backend = B::new();
    let (one, two) = (backend.open(), backend.open());
    let sums: Vec<_> = (0..CONTENTS).flat_map(|oid| [views(oid, 1), views_on(oid, "2026-11-22", 1)]).collect();
    thread::scope(|scope| {
        scope.spawn(|| write(&two, &flight_of(OTHER, 5, &sums)));
        write(&one, &flight(5, &sums));
    });
    let all: Vec<u64> = (0..CONTENTS).collect();
    assert!(totals(&one, &all).iter().all(|total| *total == 2));
}
