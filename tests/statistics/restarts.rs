//! A content that was deleted begins anew, with its total and with all of its days.

use heartline::model::ids::Content;
use heartline::model::sums::{StoredTotal, Sum, SumKey};
use heartline::storage::statistics::Written;

use crate::statistics::words::*;

const MONTHS: [&str; 5] = ["2024-02-29", "2025-12-31", "2026-01-01", "2026-10-31", "2026-11-22"];

fn watched<B: Backend>(oids: &[u64]) -> B::Store {
    let store = B::new().open();
    for (nth, on) in MONTHS.iter().enumerate() {
        let sums: Vec<_> = oids.iter().flat_map(|oid| [views(*oid, 2), views_on(*oid, on, 2)]).collect();
        write(&store, &flight(nth as u64 + 1, &sums));
    }
    store
}

pub fn a_restart_takes_the_total_and_all_days<B: Backend>() {
    let store = watched::<B>(&[1]);
    assert_eq!((totals(&store, &[1]), days(&store, 1).len()), (vec![10], 5));
    let deleted = flight(6, &[restart(1, 0)]);
    assert_eq!(write_new(&store, &deleted), 6);
    assert_eq!(write(&store, &deleted), Written { documents: 6, repeats: 6 });
    assert_eq!(stored(&store, ALL, &[1]), [StoredTotal { total: 0, flight: 6 }]);
    assert_eq!(days(&store, 1), []);
}

pub fn a_restart_leaves_other_contents_alone<B: Backend>() {
    // As text, each of them begins or ends like another one.
    let store = watched::<B>(&[1, 10, 100, 101, 11]);
    let kind = |kind, on: &str| SumKey::ViewsOn(Content { kind, oid: 10 }, day(on));
    write(&store, &flight(6, &[(kind(11, MONTHS[0]), Sum::of(1)), (kind(2, MONTHS[0]), Sum::of(1))]));
    write(&store, &flight(7, &[restart(10, 0)]));
    assert_eq!(totals(&store, &[1, 10, 100, 101, 11]), [10, 0, 10, 10, 10]);
    for (oid, months) in [(1, 5), (10, 0), (100, 5), (101, 5), (11, 5)] {
        assert_eq!(days(&store, oid).len(), months, "{oid}");
    }
    for kind in [11, 2] {
        let days = wait(heartline::storage::statistics::Statistics::days(
            &store,
            Content { kind, oid: 10 },
            day(MONTHS[0]),
            day(MONTHS[4]),
        ));
        assert_eq!(days.unwrap(), [(day(MONTHS[0]), 1)], "{kind}");
    }
}

pub fn a_restart_keeps_what_its_flight_has<B: Backend>() {
    let store = watched::<B>(&[1]);
    // One month that is there, with another day of it, and a new one.
    let deleted = flight(6, &[restart(1, 3), views_on(1, "2026-11-23", 1), views_on(1, "2026-12-01", 2)]);
    assert_eq!(write_new(&store, &deleted), 7);
    assert_eq!(write(&store, &deleted), Written { documents: 7, repeats: 7 });
    assert_eq!(totals(&store, &[1]), [3]);
    assert_eq!(days(&store, 1), told(&[("2026-11-23", 1), ("2026-12-01", 2)]));
}

pub fn a_restart_of_an_unknown_content_is_its_beginning<B: Backend>() {
    let store = B::new().open();
    write(&store, &flight(4, &[restart(1, 2), views_on(1, "2026-11-22", 2), restart(2, 0)]));
    let expected = [StoredTotal { total: 2, flight: 4 }, StoredTotal { total: 0, flight: 4 }];
    assert_eq!(stored(&store, ALL, &[1, 2]), expected);
    assert_eq!((days(&store, 1), days(&store, 2)), (told(&[("2026-11-22", 2)]), vec![]));
}

pub fn a_restart_that_comes_late_changes_nothing<B: Backend>() {
    let store = watched::<B>(&[1]);
    let deleted = flight(6, &[restart(1, 1), views_on(1, "2026-11-22", 1)]);
    write(&store, &deleted);
    // A day of a month that is there, and one of a month that is not.
    write(&store, &flight(7, &[views(1, 2), views_on(1, "2026-11-22", 1), views_on(1, "2026-12-01", 1)]));
    assert_eq!(write(&store, &deleted), Written { documents: 7, repeats: 7 });
    assert_eq!(totals(&store, &[1]), [3]);
    assert_eq!(days(&store, 1), told(&[("2026-11-22", 2), ("2026-12-01", 1)]));
}

pub fn a_content_goes_on_after_a_restart<B: Backend>() {
    let store = watched::<B>(&[1]);
    write(&store, &flight(6, &[restart(1, 0)]));
    write(&store, &flight(7, &[views(1, 1), views_on(1, MONTHS[1], 1)]));
    assert_eq!((totals(&store, &[1]), days(&store, 1)), (vec![1], told(&[(MONTHS[1], 1)])));
    write(&store, &flight(8, &[restart(1, 0)]));
    assert_eq!((totals(&store, &[1]), days(&store, 1)), (vec![0], vec![]));
}
