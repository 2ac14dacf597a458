//! What a hot store promises of the removal of what no read returns any more.

use std::sync::Arc;

use heartline::model::change::Outcome;
use heartline::model::decide::Transitions;
use heartline::model::transition::Cause;
use heartline::storage::hot_store::{Committed, HotStore};

use crate::backends::requests::*;

/// Rows that one commit removes at most.
const PORTION: usize = 256;
/// Not of whole days, so it ends to the millisecond.
const RETENTION_MS: u64 = 23 * 3_600_000;
const SHORT: Limits = Limits { retention_ms: RETENTION_MS, records_per_user: 10_000 };

fn prune_at(store: &Arc<dyn HotStore>, now: u64, horizon: u64) -> Committed {
    commit_group(store, now, vec![prune(USER, horizon)])
}

/// The contents of removed records, all of one cause.
fn gone(transitions: &Transitions, cause: Cause) -> Vec<u64> {
    let gone = transitions.iter().map(|(_, told)| {
        assert!(told.cause == cause && told.after.is_none() && told.user == USER, "{told:?}");
        assert_eq!(told.before.as_ref().map(|record| record.content), Some(told.content));
        told.content.oid
    });
    let mut gone: Vec<u64> = gone.collect();
    gone.sort_unstable();
    gone
}

pub fn what_has_expired_is_told_once_and_goes<B: Backend>() {
    let mut backend = B::fresh(SHORT);
    let old = NOW - RETENTION_MS;
    commit_at(&backend.store(), old, (0..30).map(|oid| beat_of(USER, content(oid), old + oid)).collect());
    commit_at(&backend.store(), old, vec![delete(&[30, 31], old)]);
    let (now, horizon) = (NOW + 20, NOW + 20 - RETENTION_MS);
    assert_eq!(prune_at(&backend.store(), now, old).transitions, [], "no more than was asked for");
    let before = prune_at(&backend.store(), old + 40, u64::MAX);
    assert_eq!(before.transitions, [], "nothing has expired");
    let first = prune_at(&backend.store(), now, horizon);
    assert_eq!(first.outcomes, [Outcome::Pruned { more: false }]);
    assert_eq!(gone(&first.transitions, Cause::Expiry), (0..20).collect::<Vec<_>>());
    backend.reopen(SHORT);
    assert_eq!(prune_at(&backend.store(), now, horizon).transitions, []);
    assert_eq!(oids(&list(&backend.store(), USER, everything())), (20..30).rev().collect::<Vec<_>>());
    // What is written anew is told as new.
    let written = commit_group(&backend.store(), now, vec![beat_of(USER, content(3), now)]);
    assert_eq!(moves(&written.transitions), [(0, None, Some(now), Cause::Beat)]);
}

/// Two days: yesterday and today.
pub fn whole_days_expire_at_midnight<B: Backend>() {
    const DAY_MS: u64 = 86_400_000;
    let backend = B::fresh(Limits { retention_ms: 2 * DAY_MS, ..ROOMY });
    let store = backend.store();
    let midnight = NOW - NOW % DAY_MS;
    let beats = [(1, midnight - DAY_MS), (2, midnight - 1), (3, midnight)];
    commit_at(&store, NOW, beats.map(|(oid, at)| beat_of(USER, content(oid), at)).to_vec());
    let listed = |now| oids(&wait(store.list(USER, everything(), now, Default::default())).unwrap());
    let prune = |now| gone(&prune_at(&store, now, u64::MAX).transitions, Cause::Expiry);
    let tomorrow = midnight + DAY_MS;
    assert_eq!((listed(tomorrow - 1), prune(tomorrow - 1)), (vec![3, 2, 1], vec![]));
    assert_eq!((listed(tomorrow), prune(tomorrow)), (vec![3], vec![1, 2]), "all of a day at once");
    assert_eq!((listed(tomorrow + DAY_MS), prune(tomorrow + DAY_MS)), (vec![], vec![3]));
}

pub fn what_a_clear_hides_goes_in_portions_and_each_record_is_told<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    for part in (0..3_000).collect::<Vec<u64>>().chunks(500) {
        commit(&store, part.iter().map(|oid| beat_of(USER, content(*oid), 1_000 + oid)).collect());
    }
    let cleared = commit_group(&store, NOW, vec![clear(3_899)]);
    assert_eq!(cleared.transitions, [], "it hides them, and that is all");
    assert_eq!(oids(&list(&store, USER, everything())), (2_900..3_000).rev().collect::<Vec<_>>());
    let (mut all, mut more) = (Vec::new(), true);
    while more {
        let pruned = prune_at(&store, NOW, 0);
        assert!(pruned.transitions.len() <= PORTION, "{}", pruned.transitions.len());
        more = pruned.outcomes == [Outcome::Pruned { more: true }];
        all.extend(gone(&pruned.transitions, Cause::Clear));
    }
    all.sort_unstable();
    assert_eq!(all, (0..2_900).collect::<Vec<_>>());
    assert_eq!(oids(&list(&store, USER, everything())), (2_900..3_000).rev().collect::<Vec<_>>());
    let late = commit(&store, vec![beat_of(USER, content(1), 3_899)]);
    assert!(!matches!(&late[0], outcome if outcome.is_news()), "the clear still holds: {late:?}");
}

pub fn a_row_whose_tombstone_holds_stays<B: Backend>() {
    let backend = B::fresh(SHORT);
    let store = backend.store();
    commit(&store, vec![beat_of(USER, content(1), NOW), delete(&[1], NOW - 5), delete(&[2], NOW - 5), clear(NOW)]);
    let pruned = prune_at(&store, NOW, NOW - RETENTION_MS);
    assert_eq!(gone(&pruned.transitions, Cause::Clear), [1]);
    let again = commit(&store, vec![delete(&[1, 2], NOW - 6)]);
    assert_eq!(again, [Outcome::Deleted { moved: vec![], at: NOW - 6 }], "what was deleted is known");
    let later = NOW + RETENTION_MS;
    assert_eq!(prune_at(&store, later, later - RETENTION_MS).transitions, []);
    let moved = commit_at(&store, later, vec![delete(&[1, 2], NOW - 6)]);
    assert_eq!(moved, [Outcome::Deleted { moved: vec![content(1), content(2)], at: NOW - 6 }], "it is not any more");
}

pub fn pruning_makes_room<B: Backend>() {
    let limits = Limits { records_per_user: 4, ..SHORT };
    let backend = B::fresh(limits);
    let store = backend.store();
    commit_at(&store, NOW - RETENTION_MS, (0..3).map(|oid| beat_of(USER, content(oid), NOW - RETENTION_MS)).collect());
    commit(&store, vec![beat_of(USER, content(3), NOW)]);
    let now = NOW + 1;
    // In one group with what needs the room.
    let beats = (10..14).map(|oid| beat_of(USER, content(oid), now + oid));
    let committed = commit_group(&store, now, [prune(USER, now - RETENTION_MS)].into_iter().chain(beats).collect());
    let causes: Vec<Cause> = committed.transitions.iter().map(|(_, told)| told.cause).collect();
    let (expiry, beat) = ([Cause::Expiry; 3], Cause::Beat);
    assert_eq!(causes, [&expiry[..], &[beat, beat, beat, Cause::Cap, beat]].concat());
    assert_eq!(oids(&list(&store, USER, everything())), [13, 12, 11, 10]);
}

pub fn an_erasure_tells_of_each_record<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    commit(&store, (0..700).map(|oid| beat_of(USER, content(oid), 1_000 + oid)).collect());
    commit(&store, vec![clear(1_009), delete(&[20], 2_000)]);
    let erased = commit_group(&store, NOW, vec![beat_of(USER, content(1), 5_000), erase()]);
    let (beat, told) = erased.transitions.split_first().expect("a beat");
    assert_eq!(moves(&vec![beat.clone()]), [(0, Some(1_001), Some(5_000), Cause::Beat)]);
    assert_eq!(gone(&told.to_vec(), Cause::Erase), (0..700).filter(|oid| *oid != 20).collect::<Vec<_>>());
    assert_eq!(prune_at(&store, NOW, 0).transitions, [], "nothing is left to tell of");
    assert_eq!(commit_group(&store, NOW, vec![erase()]).transitions, []);
}
