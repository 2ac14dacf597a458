//! What every hot store promises of the cap of contents per user.

use std::collections::HashMap;

use proptest::prelude::*;

use heartline::model::change::Outcome;
use heartline::model::rule::{Reason, Verdict};

use crate::backends::requests::*;
use crate::support::depth::depth;

fn capped(records_per_user: u32) -> Limits {
    Limits { records_per_user, ..ROOMY }
}

fn written<B: Backend>(backend: &B, oid: u64, at: u64) -> bool {
    match commit(&backend.store(), vec![beat_of(USER, content(oid), at)]).remove(0) {
        Outcome::Beat { verdict: Verdict::Written { .. }, .. } => true,
        Outcome::Beat { verdict: Verdict::Rejected { reason: Reason::Superseded, .. }, .. } => false,
        other => panic!("{other:?}"),
    }
}

fn kept<B: Backend>(backend: &B) -> Vec<u64> {
    let mut kept = oids(&list(&backend.store(), USER, everything()));
    kept.sort_unstable();
    kept
}

pub fn a_new_content_takes_the_place_of_the_oldest<B: Backend>() {
    let mut backend = B::fresh(capped(3));
    for (oid, at) in [(1, 1_000), (2, 3_000), (3, 2_000), (1, 4_000)] {
        assert!(written(&backend, oid, at));
    }
    assert!(written(&backend, 4, 5_000));
    assert_eq!(kept(&backend), [1, 2, 4], "3 was the oldest");
    backend.reopen(capped(3));
    assert!(!written(&backend, 3, 2_000), "not back as it was");
    assert!(!written(&backend, 5, 1_500), "nor anything as old");
    assert!(!written(&backend, 5, 3_000), "older than all that is kept");
    assert_eq!(kept(&backend), [1, 2, 4]);
    assert!(written(&backend, 3, 3_001), "a newer beat is welcome");
    assert_eq!(kept(&backend), [1, 3, 4]);
    backend.reopen(capped(10));
    assert!(!written(&backend, 2, 3_000), "nor when there is room again");
    assert!(written(&backend, 2, 3_001));
}

pub fn deleted_contents_count<B: Backend>() {
    let mut backend = B::fresh(capped(3));
    commit(&backend.store(), vec![delete(&[1, 2, 3], 5_000)]);
    assert!(written(&backend, 4, 6_000));
    assert!(written(&backend, 5, 6_000));
    for oid in 1..=3 {
        assert!(!written(&backend, oid, 5_000), "a tombstone that had to go still holds");
    }
    let outcomes = commit(&backend.store(), vec![delete(&[8], 4_999)]);
    assert_eq!(outcomes, [Outcome::Deleted { moved: vec![content(8)], at: 4_999 }]);
    assert_eq!(kept(&backend), [4, 5]);
    backend.reopen(capped(10));
    for oid in [1, 2, 3, 8] {
        assert!(!written(&backend, oid, 4_999), "{oid} is back");
    }
}

pub fn deleted_contents_give_way_before_live_ones<B: Backend>() {
    let mut backend = B::fresh(capped(4));
    for (oid, at) in [(1, 1_000), (2, 2_000), (3, 3_000), (4, 4_000)] {
        assert!(written(&backend, oid, at));
    }
    // The newest two go; then one comes back.
    commit(&backend.store(), vec![delete(&[3, 4], 9_000)]);
    assert!(written(&backend, 3, 9_500));
    commit(&backend.store(), vec![delete(&[3], 9_600)]);
    assert!(written(&backend, 5, 10_000));
    assert_eq!(kept(&backend), [1, 2, 5], "4 gave way, which was deleted before 3");
    backend.reopen(capped(4));
    assert!(!written(&backend, 4, 9_000), "it does not come back as it was");
    assert!(written(&backend, 6, 11_000));
    assert_eq!(kept(&backend), [1, 2, 5, 6], "3 gave way");
    // Only now the oldest live one.
    assert!(written(&backend, 7, 12_000));
    assert_eq!(kept(&backend), [2, 5, 6, 7]);
    // A deletion of what was never there takes no live one's place either, and holds all the same.
    commit(&backend.store(), vec![delete(&[8], 13_000)]);
    assert_eq!(kept(&backend), [2, 5, 6, 7]);
    assert!(!written(&backend, 8, 13_000));
}

pub fn a_late_content_takes_the_place_of_a_newer_deleted_one<B: Backend>() {
    let backend = B::fresh(capped(2));
    assert!(written(&backend, 1, 1_000));
    commit(&backend.store(), vec![delete(&[2], 5_000)]);
    assert!(written(&backend, 3, 4_000), "a device that was offline brings it");
    assert_eq!(kept(&backend), [1, 3]);
    assert!(!written(&backend, 2, 5_000), "deleted is deleted");
}

pub fn a_cleared_content_comes_back_only_above_the_floor<B: Backend>() {
    let mut backend = B::fresh(capped(2));
    assert!(written(&backend, 1, 1_000));
    commit(&backend.store(), vec![delete(&[2], 5_000)]);
    assert!(written(&backend, 3, 4_000), "2 gave way: the floor is 5,000");
    commit(&backend.store(), vec![clear(2_000)]);
    for _ in 0..2 {
        assert!(!written(&backend, 1, 3_000), "whether its record was removed or is only hidden");
        backend.reopen(capped(2));
    }
    assert!(written(&backend, 1, 5_001));
    assert!(written(&backend, 3, 4_500), "its record is there: the floor does not count");
    assert_eq!(kept(&backend), [1, 3]);
}

pub fn many_deleted_contents_give_way_in_their_order<B: Backend>() {
    let backend = B::fresh(capped(600));
    let store = backend.store();
    commit(&store, (0..600).map(|oid| beat_of(USER, content(oid), 10_000 + oid)).collect());
    // A new one, so that a store that remembers the oldest does so before others are deleted.
    commit(&store, vec![beat_of(USER, content(600), 20_000)]);
    let deleted: Vec<u64> = (100..600).step_by(2).collect();
    for oids in deleted.chunks(50) {
        commit(&store, vec![delete(oids, 30_000 + oids[0])]);
    }
    commit(&store, (1_000..1_240).map(|oid| beat_of(USER, content(oid), 50_000 + oid)).collect());
    let live = (1..600).filter(|oid| !deleted.contains(oid)).chain([600]).chain(1_000..1_240);
    assert_eq!(kept(&backend), live.collect::<Vec<_>>(), "none but deleted ones had to go");
    commit(&store, (2_000..2_011).map(|oid| beat_of(USER, content(oid), 60_000 + oid)).collect());
    assert_eq!(kept(&backend)[0], 2, "ten deleted ones were left");
}

pub fn a_lowered_cap_is_reached_by_and_by<B: Backend>() {
    let mut backend = B::fresh(capped(20));
    for oid in 0..20 {
        assert!(written(&backend, oid, 1_000 + oid));
    }
    backend.reopen(capped(5));
    assert_eq!(kept(&backend).len(), 20, "reads remove nothing");
    for oid in 100..120 {
        assert!(written(&backend, oid, 2_000 + oid));
    }
    assert_eq!(kept(&backend), (115..120).collect::<Vec<_>>());
}

pub fn more_contents_than_are_remembered_as_the_oldest<B: Backend>() {
    let backend = B::fresh(capped(600));
    let store = backend.store();
    commit(&store, (0..600).map(|oid| beat_of(USER, content(oid), 10_000 + oid)).collect());
    // Some of the oldest become the newest.
    commit(&store, (0..300).step_by(3).map(|oid| beat_of(USER, content(oid), 90_000 + oid)).collect());
    commit(&store, (1_000..1_450).map(|oid| beat_of(USER, content(oid), 50_000 + oid)).collect());
    let mut by_age: Vec<(u64, u64)> = (0..600)
        .map(|oid| (if oid < 300 && oid % 3 == 0 { 90_000 } else { 10_000 } + oid, oid))
        .chain((1_000..1_450).map(|oid| (50_000 + oid, oid)))
        .collect();
    by_age.sort_unstable();
    let mut expected: Vec<u64> = by_age[450..].iter().map(|(_, oid)| *oid).collect();
    expected.sort_unstable();
    assert_eq!(kept(&backend), expected);
}

pub fn what_was_evicted_never_comes_back_older<B: Backend>() {
    let steps = prop::collection::vec((0u64..10, 1u64..60, 0usize..20, any::<bool>()), 1..80);
    let config = ProptestConfig { cases: depth(8, 24), failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(steps in steps)| {
        let mut backend = B::fresh(capped(4));
        let mut newest_seen: HashMap<u64, u64> = HashMap::new();
        for (oid, at, pause, deletes) in steps {
            if pause == 0 {
                backend.reopen(capped(4));
            } else if pause == 1 {
                backend.reopen(capped(6));
            }
            if deletes && pause < 4 {
                commit(&backend.store(), vec![delete(&[oid], at)]);
            } else {
                commit(&backend.store(), vec![beat_of(USER, content(oid), at)]);
            }
            let page = list(&backend.store(), USER, everything());
            prop_assert!(page.records.len() <= 6);
            for record in page.records {
                let newest = newest_seen.entry(record.content.oid).or_default();
                prop_assert!(record.at >= *newest, "{} at {} after {}", record.content.oid, record.at, newest);
                *newest = record.at;
            }
        }
    });
}
