//! A flight is applied once, however often and by whomever it is written.

use std::thread;

use heartline::model::sums::StoredTotal;
use heartline::storage::statistics::Written;

use crate::statistics::words::*;

pub fn a_flight_that_is_written_twice_is_applied_once<B: Backend>() {
    let store = B::new().open();
    let flight = flight(7, &[views(1, 3), views_on(1, "2026-11-22", 2), views_on(1, "2026-11-23", 1)]);
    assert_eq!(write_new(&store, &flight), 2);
    for _ in 0..2 {
        assert_eq!(write(&store, &flight), Written { documents: 2, repeats: 2 });
        assert_eq!(stored(&store, ALL, &[1]), [StoredTotal { total: 3, flight: 7 }]);
        assert_eq!(days(&store, 1), told(&[("2026-11-22", 2), ("2026-11-23", 1)]));
    }
}

pub fn a_flight_of_two_writers_at_once_is_applied_once<B: Backend>() {
    const ROUNDS: u64 = 10;
    const CONTENTS: u64 = 300;
    let backend = B::new();
    let (one, two) = (backend.open(), backend.open());
    for round in 1..=ROUNDS {
        let sums = (0..CONTENTS).flat_map(|oid| [views(oid, 1), views_on(oid, "2026-11-22", 1)]);
        let flight = flight(round, &sums.collect::<Vec<_>>());
        let written = thread::scope(|scope| {
            let other = scope.spawn(|| write(&two, &flight));
            let mut written = write(&one, &flight);
            written.join(other.join().unwrap());
            written
        });
        let documents = 2 * CONTENTS as usize;
        assert!(written.repeats >= documents, "{written:?}");
    }
    let all: Vec<u64> = (0..CONTENTS).collect();
    assert!(totals(&one, &all).iter().all(|total| *total == ROUNDS as i64));
    assert!(all.iter().all(|oid| days(&two, *oid) == told(&[("2026-11-22", ROUNDS)])));
}

pub fn a_lower_number_changes_nothing<B: Backend>() {
    let store = B::new().open();
    write(&store, &flight(9, &[views(1, 5), views_on(1, "2026-11-22", 5)]));
    let late = flight(8, &[views(1, 100), views_on(1, "2026-11-22", 100)]);
    assert_eq!(write(&store, &late), Written { documents: 2, repeats: 2 });
    assert_eq!(stored(&store, ALL, &[1]), [StoredTotal { total: 5, flight: 9 }]);
    assert_eq!(days(&store, 1), told(&[("2026-11-22", 5)]));
    write(&store, &flight(10, &[views(1, 1)]));
    assert_eq!(stored(&store, ALL, &[1]), [StoredTotal { total: 6, flight: 10 }]);
}

pub fn a_flight_of_five_thousand_contents_is_written_whole<B: Backend>() {
    const CONTENTS: u64 = 5_000;
    let store = B::new().open();
    let sums = (0..CONTENTS).flat_map(|oid| [views(oid, oid as i64 + 1), views_on(oid, "2026-11-22", 1)]);
    let flight = flight(1, &sums.collect::<Vec<_>>());
    assert_eq!(write(&store, &flight).documents, 2 * CONTENTS as usize);
    assert_eq!(write(&store, &flight).repeats, 2 * CONTENTS as usize);
    let all: Vec<u64> = (0..CONTENTS).collect();
    assert!(totals(&store, &all).into_iter().eq(1..=CONTENTS as i64));
    for oid in [0, 999, 1_000, 2_500, 4_999] {
        assert_eq!(days(&store, oid), told(&[("2026-11-22", 1)]), "{oid}");
    }
}

pub fn a_sum_that_changes_nothing_needs_no_document<B: Backend>() {
    let store = B::new().open();
    let nothing = flight(1, &[views(1, 0), views_on(1, "2026-11-22", 0)]);
    assert_eq!(write(&store, &nothing), Written::default());
    assert_eq!(stored(&store, ALL, &[1]), [StoredTotal::default()]);
    assert_eq!(write(&store, &flight(2, &[])), Written::default());
    assert_eq!(write_new(&store, &flight(3, &[views(1, 4), views(2, 0)])), 1);
    assert_eq!(stored(&store, ALL, &[1, 2]), [StoredTotal { total: 4, flight: 3 }, StoredTotal::default()]);
}

pub fn sums_may_be_negative<B: Backend>() {
    let store = B::new().open();
    write(&store, &flight(1, &[views(1, -2), views_on(1, "2026-11-22", -2)]));
    assert_eq!((totals(&store, &[1]), days(&store, 1)), (vec![-2], vec![]));
    write(&store, &flight(2, &[views(1, 5), views_on(1, "2026-11-22", 5)]));
    assert_eq!((totals(&store, &[1]), days(&store, 1)), (vec![3], told(&[("2026-11-22", 3)])));
}
