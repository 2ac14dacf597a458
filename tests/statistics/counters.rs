//! Numbers of derived counters: added once, read by their keys, by their size and in order, and dropped.

use heartline::model::counters::{CounterId, CounterKey};
use heartline::model::sums::{Sum, SumKey};
use heartline::storage::statistics::{CounterStatistics, Written};

use crate::statistics::words::*;

/// Parts of keys, all of the counter `viewers` in generation 3.
fn viewers(numbers: &[(&[&str], i64)]) -> Vec<(SumKey, Sum)> {
    numbers.iter().map(|(parts, by)| counter(3, "viewers", parts, *by)).collect()
}

fn top(store: &impl CounterStatistics, prefix: &[&str], limit: usize) -> Vec<(String, i64)> {
    let (id, prefix) = ("viewers".parse::<CounterId>().unwrap(), key(prefix));
    encoded(answered("the top is read", || wait(store.counter_top(3, id.clone(), prefix.clone(), limit))))
}

fn page(store: &impl CounterStatistics, after: Option<&CounterKey>, limit: usize) -> Vec<(CounterKey, i64)> {
    let id: CounterId = "viewers".parse().unwrap();
    answered("a page is read", || wait(store.counter_page(3, id.clone(), after.cloned(), limit)))
}

fn encoded(numbers: Vec<(CounterKey, i64)>) -> Vec<(String, i64)> {
    numbers.into_iter().map(|(key, number)| (key.encoded().to_owned(), number)).collect()
}

fn drop_generation(store: &impl CounterStatistics, generation: u32) {
    answered("the generation is dropped", || wait(store.drop_generation(generation)));
}

pub fn a_counter_in_a_flight_that_is_written_twice_is_added_once<B: Backend>() {
    let store = B::new().open();
    let first = flight(7, &[counter(3, "all", &[], 5), counter(3, "viewers", &["1", "100"], 2)]);
    assert_eq!(write_new(&store, &first), 2);
    for _ in 0..2 {
        assert_eq!(write(&store, &first), Written { documents: 2, repeats: 2 });
        assert_eq!(counted(&store, 3, "all", &[&[]]), [5]);
        assert_eq!(counted(&store, 3, "viewers", &[&["1", "100"]]), [2]);
    }
    let late = flight(6, &[counter(3, "all", &[], 100)]);
    assert_eq!(write(&store, &late), Written { documents: 1, repeats: 1 });
    assert_eq!(counted(&store, 3, "all", &[&[]]), [5]);
    write(&store, &flight(8, &[counter(3, "all", &[], 1)]));
    assert_eq!(counted(&store, 3, "all", &[&[]]), [6]);
}

pub fn counters_and_views_share_a_flight<B: Backend>() {
    let store = B::new().open();
    // As text, `1:100` is a content, and would be a key of generation 1.
    let all = [views(100, 1), views_on(100, "2026-11-22", 1), counter(1, "100", &[], 7), counter(1, "100", &["1"], 8)];
    let mixed = flight(1, &all);
    assert_eq!(write_new(&store, &mixed), 4);
    assert_eq!(write(&store, &mixed), Written { documents: 4, repeats: 4 });
    write(&store, &flight(2, &[restart(100, 0), counter(1, "100", &[], -3)]));
    assert_eq!((totals(&store, &[100]), days(&store, 100)), (vec![0], vec![]));
    assert_eq!(counted(&store, 1, "100", &[&[], &["1"], &["2"]]), [4, 8, 0]);
}

pub fn a_counter_falls_and_rises<B: Backend>() {
    let store = B::new().open();
    for (number, (by, is)) in (1..).zip([(-2, -2), (2, 0), (3, 3), (-3, 0), (-1, -1), (8, 7)]) {
        write(&store, &flight(number, &[counter(3, "viewers", &["1"], by)]));
        assert_eq!(counted(&store, 3, "viewers", &[&["1"]]), [is]);
    }
}

pub fn a_counter_of_which_nothing_is_left_needs_no_document<B: Backend>() {
    let store = B::new().open();
    assert_eq!(write(&store, &flight(1, &[counter(3, "viewers", &["1"], 0)])), Written::default());
    let both = flight(2, &[counter(3, "viewers", &["1"], 0), counter(3, "viewers", &["2"], 1)]);
    assert_eq!(write_new(&store, &both), 1);
    assert_eq!(counted(&store, 3, "viewers", &[&["1"], &["2"]]), [0, 1]);
}

pub fn numbers_come_in_the_order_asked<B: Backend>() {
    let store = B::new().open();
    let keys: Vec<String> = (0..600).map(|oid| oid.to_string()).collect();
    let sums = keys.iter().zip(1..).map(|(oid, by)| counter(3, "viewers", &["1", oid], by));
    write(&store, &flight(1, &sums.collect::<Vec<_>>()));
    let parts: Vec<[&str; 2]> = keys.iter().rev().map(|oid| ["1", &**oid]).collect();
    let asked: Vec<&[&str]> = parts.iter().map(|parts| &parts[..]).collect();
    assert_eq!(counted(&store, 3, "viewers", &asked), (1..=600).rev().collect::<Vec<_>>());
    assert_eq!(counted(&store, 3, "viewers", &[&["1", "7"], &["1"], &["1", "3"], &["1", "7"]]), [8, 0, 4, 8]);
    for (generation, id) in [(2, "viewers"), (33, "viewers"), (3, "viewer")] {
        assert_eq!(counted(&store, generation, id, &[&["1", "7"]]), [0], "{generation} {id}");
    }
    assert!(counted(&store, 3, "viewers", &[]).is_empty());
}

pub fn the_largest_come_first<B: Backend>() {
    let store = B::new().open();
    assert_eq!(top(&store, &[], 10), []);
    let numbers = viewers(&[
        (&["1", "100"], 7),
        (&["1", "2"], 9),
        (&["1"], 7),
        (&["2", "1"], 12),
        (&["tv 3", "!"], 7),
        (&["1a"], 1),
        (&["9"], -4),
        (&["5"], 3),
    ]);
    write(&store, &flight(1, &numbers));
    let others = [counter(3, "viewer", &["1"], 99), counter(30, "viewers", &["1"], 99), counter(2, "viewers", &[], 99)];
    write(&store, &flight(2, &others));
    write(&store, &flight(3, &viewers(&[(&["5"], -3)])));
    // Equal ones are in the order of their keys, and what fell to 0 is left out.
    let all = [("2!1", 12), ("1!2", 9), ("1", 7), ("1!100", 7), ("tv%203!%21", 7), ("1a", 1), ("9", -4)];
    let all = all.map(|(key, number)| (key.to_owned(), number));
    assert_eq!(top(&store, &[], 10), all);
    for limit in 0..all.len() {
        assert_eq!(top(&store, &[], limit), all[..limit]);
    }
}

pub fn the_largest_of_a_prefix_begin_with_its_parts<B: Backend>() {
    let store = B::new().open();
    let numbers = viewers(&[
        (&["1"], 1),
        (&["1", "tv"], 2),
        (&["1", "tv", "3"], 3),
        (&["1", "tv", "4"], 3),
        (&["1", "tv-"], 50),
        (&["1", "tv 2"], 50),
        (&["10", "tv"], 50),
        (&["1", "t"], 50),
    ]);
    write(&store, &flight(1, &numbers));
    write(&store, &flight(2, &[counter(3, "viewer", &["1", "tv"], 99), counter(2, "viewers", &["1", "tv"], 99)]));
    let of_prefix = [("1!tv!3", 3), ("1!tv!4", 3), ("1!tv", 2)].map(|(key, number)| (key.to_owned(), number));
    assert_eq!(top(&store, &["1", "tv"], 10), of_prefix);
    assert_eq!(top(&store, &["1", "tv"], 1), of_prefix[..1]);
    assert_eq!(top(&store, &["1"], 10).len(), 7);
    assert_eq!(top(&store, &["1", "tv", "3", "x"], 10), []);
    assert_eq!(top(&store, &["2"], 10), []);
}

pub fn pages_lead_through_all_keys<B: Backend>() {
    let store = B::new().open();
    assert_eq!(page(&store, None, 10), []);
    let oids: Vec<String> = (0..700).map(|oid| oid.to_string()).collect();
    let mut sums: Vec<_> = oids.iter().zip(1..).map(|(oid, by)| counter(3, "viewers", &["1", oid], by)).collect();
    sums.extend([counter(3, "viewers", &[], 5), counter(3, "viewers", &["~", "ä"], -5)]);
    write(&store, &flight(1, &sums));
    let others = [(3, "viewer"), (3, "viewers.x"), (3, "viewersx"), (30, "viewers"), (2, "viewers"), (4, "viewers")];
    write(&store, &flight(2, &others.map(|(generation, id)| counter(generation, id, &["1", "7"], 99))));
    write(&store, &flight(3, &viewers(&[(&["1", "0"], -1)])));
    let mut expected: Vec<_> = oids.iter().zip(1..).map(|(oid, number)| (key(&["1", oid]), number)).collect();
    expected.extend([(key(&[]), 5), (key(&["~", "ä"]), -5)]);
    expected.retain(|(key, _)| key.encoded() != "1!0");
    expected.sort();
    for limit in [800, 701, 600, 300, 1] {
        // One by one, the first ones are enough.
        let all = if limit == 1 { &expected[..20] } else { &expected[..] };
        let mut read: Vec<(CounterKey, i64)> = Vec::new();
        while read.len() < all.len() {
            let next = page(&store, read.last().map(|(key, _)| key), limit);
            assert!(next.len() == limit || read.len() + next.len() == all.len(), "{} of {limit}", next.len());
            read.extend(next);
        }
        assert_eq!(read, all, "{limit}");
    }
    assert_eq!(page(&store, None, 0), []);
    assert_eq!(page(&store, expected.last().map(|(key, _)| key), 10), []);
    // After a key that is not there.
    assert_eq!(page(&store, Some(&key(&["1", "9999"])), 10), [(key(&["~", "ä"]), -5)]);
}

pub fn a_generation_is_dropped_alone<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    drop_generation(&store, 3);
    // More than one step removes.
    let oids: Vec<String> = (0..1_100).map(|oid| oid.to_string()).collect();
    let mut sums: Vec<_> = oids.iter().map(|oid| counter(3, "viewers", &["1", oid], 1)).collect();
    sums.extend([counter(3, "all", &[], 1), counter(3, "z", &["~"], 1), views(3, 1), views_on(3, "2026-11-22", 1)]);
    let others = [0, 1, 2, 4, 30, 33, 39, u32::MAX];
    sums.extend(others.iter().flat_map(|other| [counter(*other, "all", &[], 1), counter(*other, "z", &["~"], 1)]));
    write(&store, &flight(1, &sums));
    drop_generation(&store, 3);
    drop_generation(&store, 3);
    let other = backend.open();
    assert_eq!((page(&other, None, 10), top(&other, &[], 10)), (vec![], vec![]));
    assert_eq!((counted(&other, 3, "all", &[&[]]), counted(&other, 3, "z", &[&["~"]])), (vec![0], vec![0]));
    for generation in others {
        let kept = (counted(&other, generation, "all", &[&[]]), counted(&other, generation, "z", &[&["~"]]));
        assert_eq!(kept, (vec![1], vec![1]), "{generation}");
    }
    assert_eq!((totals(&other, &[3]), days(&other, 3)), (vec![1], told(&[("2026-11-22", 1)])));
}

pub fn a_late_flight_of_a_dropped_generation_harms_no_other<B: Backend>() {
    let store = B::new().open();
    let late = flight(1, &[counter(3, "all", &[], 5), counter(4, "all", &[], 6), views(1, 1)]);
    write(&store, &late);
    write(&store, &flight(2, &[counter(3, "all", &[], 5), counter(4, "all", &[], 1), views(1, 1)]));
    drop_generation(&store, 3);
    let written = write(&store, &late);
    assert_eq!(written.documents, 3);
    assert_eq!((counted(&store, 4, "all", &[&[]]), totals(&store, &[1])), (vec![7], vec![2]));
    drop_generation(&store, 3);
    write(&store, &flight(3, &[counter(4, "all", &[], 1)]));
    assert_eq!((counted(&store, 3, "all", &[&[]]), counted(&store, 4, "all", &[&[]])), (vec![0], vec![8]));
}
