//! What a hot store promises of an erasure.

use heartline::model::change::Outcome;
use heartline::model::ids::UserId;
use heartline::model::rule::{Reason, Verdict};

use crate::backends::requests::*;

fn superseded(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Beat { verdict: Verdict::Rejected { reason: Reason::Superseded, record: None }, .. })
}

pub fn an_erased_user_has_nothing_left<B: Backend>() {
    let mut backend = B::fresh(ROOMY);
    let others = [41, 43, 42 << 8].map(UserId);
    let mut changes: Vec<_> = (0..300).map(|oid| beat_of(USER, content(oid), 1_000 + oid)).collect();
    changes.extend([delete(&[1, 700], 2_000), recording(true, 3_000)]);
    changes.extend(others.map(|user| beat_of(user, content(1), 1_000)));
    commit(&backend.store(), changes);
    assert_eq!(commit(&backend.store(), vec![erase()]), [Outcome::Erased { at: NOW, resumed: true, moved: true }]);
    for _ in 0..2 {
        let store = backend.store();
        assert!(list(&store, USER, everything()).records.is_empty());
        assert_eq!(ats(&store, &[0, 1, 299]), [None, None, None]);
        assert!(!wait(store.paused(USER)).expect("an answer"));
        for user in others {
            assert_eq!(oids(&list(&store, user, everything())), [1]);
        }
        drop(store);
        backend.reopen(ROOMY);
    }
}

pub fn what_is_not_newer_than_an_erasure_never_comes_back<B: Backend>() {
    let mut backend = B::fresh(ROOMY);
    let ahead = NOW + 3_000;
    commit(&backend.store(), vec![beat_of(USER, content(1), 1_000), delete(&[2], ahead)]);
    assert_eq!(commit(&backend.store(), vec![erase()]), [Outcome::Erased { at: ahead, resumed: false, moved: true }]);
    for _ in 0..2 {
        let late = [1_000, NOW, ahead].map(|at| beat_of(USER, content(1), at));
        assert!(commit(&backend.store(), late.to_vec()).iter().all(superseded));
        assert!(superseded(&commit(&backend.store(), vec![beat_of(USER, content(9), ahead)])[0]));
        backend.reopen(ROOMY);
    }
    let outcomes = commit(&backend.store(), vec![beat_of(USER, content(1), ahead + 1)]);
    assert_eq!(outcomes, [Outcome::from(Verdict::written(false))]);
}

pub fn an_erasure_takes_the_changes_of_its_group_in_their_order<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    commit(&store, vec![beat_of(USER, content(1), 1_000)]);
    let group = vec![
        beat_of(USER, content(1), 2_000),
        beat_of(USER, content(2), 2_000),
        erase(),
        beat_of(USER, content(1), 3_000),
        beat_of(USER, content(2), NOW + 1),
    ];
    let outcomes = commit(&store, group);
    assert!(
        superseded(&outcomes[3]) && matches!(outcomes[4], Outcome::Beat { verdict: Verdict::Written { .. }, .. }),
        "{outcomes:?}"
    );
    assert_eq!(ats(&store, &[1, 2]), [None, Some(NOW + 1)]);
}

pub fn an_erasure_may_be_committed_again<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let group = || vec![beat_of(USER, content(1), 1_000), erase(), beat_of(USER, content(2), NOW + 10)];
    commit(&store, group());
    let again = commit(&store, group());
    let done = || Outcome::Erased { at: NOW, resumed: false, moved: false };
    assert_eq!(again[1..], [done(), Outcome::from(Verdict::Same)]);
    assert!(superseded(&again[0]), "{again:?}");
    assert_eq!(ats(&store, &[1, 2]), [None, Some(NOW + 10)]);
    assert_eq!(commit(&store, vec![erase(), erase_at(NOW - 1)]), [done(), done()]);
}

pub fn an_erasure_that_arrives_again_takes_nothing_that_was_made_since<B: Backend>() {
    let mut backend = B::fresh(ROOMY);
    let store = backend.store();
    commit(&store, vec![beat_of(USER, content(1), 1_000), clear(NOW + 2), erase()]);
    let since = vec![beat_of(USER, content(1), NOW + 20), delete(&[2], NOW + 30), recording(true, NOW + 40)];
    commit(&store, since);
    drop(store);
    for _ in 0..2 {
        let store = backend.store();
        let again = commit_at(&store, NOW + 60_000, vec![erase()]);
        assert_eq!(again, [Outcome::Erased { at: NOW + 2, resumed: false, moved: false }]);
        assert_eq!(ats(&store, &[1]), [Some(NOW + 20)]);
        assert!(wait(store.paused(USER)).expect("an answer"));
        assert!(superseded(&commit(&store, vec![beat_of(USER, content(2), NOW + 30)])[0]));
        drop(store);
        backend.reopen(ROOMY);
    }
}

pub fn an_erasure_that_is_late_leaves_what_is_newer<B: Backend>() {
    let mut backend = B::fresh(ROOMY);
    let store = backend.store();
    let old = [1, 2, 3].map(|oid| beat_of(USER, content(oid), 1_000 + oid));
    let newer = [beat_of(USER, content(2), NOW + 20), beat_of(USER, content(4), NOW + 30)];
    commit(&store, [&old[..], &newer, &[delete(&[3], NOW + 25), recording(true, 5_000)]].concat());
    let late = commit_at(&store, NOW + 60_000, vec![erase()]);
    assert_eq!(late, [Outcome::Erased { at: NOW, resumed: true, moved: true }]);
    drop(store);
    for _ in 0..2 {
        let store = backend.store();
        assert_eq!(ats(&store, &[1, 2, 3, 4]), [None, Some(NOW + 20), None, Some(NOW + 30)]);
        assert_eq!(oids(&list(&store, USER, everything())), [4, 2]);
        let deleted = commit(&store, vec![beat_of(USER, content(3), NOW + 25)]);
        assert!(superseded(&deleted[0]), "{deleted:?}");
        drop(store);
        backend.reopen(ROOMY);
    }
    let next = commit(&backend.store(), vec![beat_of(USER, content(4), NOW + 31), beat_of(USER, content(3), NOW + 26)]);
    assert!(next.iter().all(|next| matches!(next, Outcome::Beat { verdict: Verdict::Written { .. }, .. })), "{next:?}");
}

pub fn an_erasure_makes_room<B: Backend>() {
    let backend = B::fresh(Limits { records_per_user: 3, ..ROOMY });
    let store = backend.store();
    commit(&store, (0..5).map(|oid| beat_of(USER, content(oid), 1_000 + oid)).collect());
    commit(&store, vec![erase()]);
    commit(&store, (10..13).map(|oid| beat_of(USER, content(oid), NOW + oid)).collect());
    assert_eq!(oids(&list(&store, USER, everything())), [12, 11, 10]);
    commit(&store, vec![beat_of(USER, content(13), NOW + 13)]);
    assert_eq!(oids(&list(&store, USER, everything())), [13, 12, 11]);
}
