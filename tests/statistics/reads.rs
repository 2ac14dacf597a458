//! What is read, and when it is new.

use heartline::model::sums::StoredTotal;

use crate::statistics::words::*;

pub fn totals_come_in_the_order_asked<B: Backend>() {
    let store = B::new().open();
    write(&store, &flight(1, &(0..1_200).map(|oid| views(oid, oid as i64 + 1)).collect::<Vec<_>>()));
    assert_eq!(totals(&store, &[7, 3, 99_999, 5, 3]), [8, 4, 0, 6, 4]);
    let backwards: Vec<u64> = (0..1_200).rev().collect();
    assert_eq!(totals(&store, &backwards), (1..=1_200).rev().collect::<Vec<_>>());
}

pub fn nothing_is_known_of_nothing<B: Backend>() {
    let store = B::new().open();
    assert_eq!(stored(&store, ALL, &[]), []);
    assert_eq!(stored(&store, ALL, &[1]), [StoredTotal::default()]);
    assert_eq!(days(&store, 1), []);
    write(&store, &flight(1, &[views(1, 1)]));
    assert_eq!(days_from(&store, 1, "2026-11-23", "2026-11-22"), []);
}

pub fn days_are_those_from_the_first_to_the_last<B: Backend>() {
    let store = B::new().open();
    let on: Vec<String> = (1..=9).map(|day| format!("2026-11-0{day}")).collect();
    let sums: Vec<_> = on.iter().zip(1..).map(|(on, by)| views_on(1, on, by)).collect();
    write(&store, &flight(1, &sums));
    let read = days_from(&store, 1, "2026-11-03", "2026-11-05");
    assert_eq!(read, told(&[("2026-11-03", 3), ("2026-11-04", 4), ("2026-11-05", 5)]));
    assert_eq!(days_from(&store, 1, "2026-11-09", "2026-11-09"), told(&[("2026-11-09", 9)]));
    assert_eq!(days_from(&store, 1, "2026-11-10", "2026-11-30"), []);
}

pub fn days_lie_in_months_and_years<B: Backend>() {
    let store = B::new().open();
    let on = ["2025-02-28", "2025-12-31", "2026-01-01", "2026-02-28", "2026-03-01", "2028-02-29"];
    for (number, on) in (1..).zip(on) {
        write(&store, &flight(number, &[views(1, 1), views_on(1, on, number as i64)]));
    }
    let all: Vec<_> = on.into_iter().zip(1..).collect();
    assert_eq!(days(&store, 1), told(&all));
    assert_eq!(days_from(&store, 1, "2025-12-31", "2026-02-28"), told(&all[1..4]));
    // A day of the same name in another year and month is another day.
    write(&store, &flight(9, &[views_on(1, "2026-12-31", 1)]));
    assert_eq!(days_from(&store, 1, "2025-12-01", "2025-12-31"), told(&all[1..2]));
    // More months than are asked for at a time: all there can be.
    assert_eq!(days_from(&store, 1, "1970-01-01", "2149-06-06").len(), 7);
}

pub fn reads_see_every_write_that_was_answered<B: Backend>() {
    let backend = B::new();
    let (writer, reader) = (backend.open(), backend.open());
    for number in 1..=50 {
        write(&writer, &flight(number, &[views(1, 1), views_on(1, "2026-11-22", 1)]));
        assert_eq!(stored(&reader, ALL, &[1]), [StoredTotal { total: number as i64, flight: number }]);
        assert_eq!(days(&reader, 1), told(&[("2026-11-22", number)]));
    }
}
