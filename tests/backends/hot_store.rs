//! What every hot store promises.

use std::sync::Arc;

use heartline::model::change::{Change, Outcome};
use heartline::model::ids::{Content, UserId};
use heartline::model::page::{PageRequest, Position};
use heartline::model::rows_read::RowsRead;
use heartline::model::rule::{Reason, Verdict};
use heartline::model::transition::Cause;
use heartline::model::version::Version;
use heartline::storage::hot_store::{Committed, HotStore};

use crate::backends::requests::*;

fn beats(oids: &[(u64, u64)]) -> Vec<heartline::model::change::Change> {
    oids.iter().map(|(oid, at)| beat_of(USER, content(*oid), *at)).collect()
}

fn written(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Beat { verdict: Verdict::Written { .. }, .. })
}

fn rejected(outcome: &Outcome, expected: Reason) -> bool {
    matches!(outcome, Outcome::Beat { verdict: Verdict::Rejected { reason, .. }, .. } if *reason == expected)
}

pub fn a_group_is_answered_in_its_order<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let mut changes = beats(&[(1, 1_000), (1, 3_000), (1, 2_000), (1, 3_000)]);
    changes.push(delete(&[1], 3_500));
    changes.extend(beats(&[(1, 3_400), (1, 4_000)]));
    let Committed { outcomes, transitions, .. } = commit_group(&store, NOW, changes);
    assert!(written(&outcomes[0]) && written(&outcomes[6]));
    assert!(rejected(&outcomes[2], Reason::Superseded) && rejected(&outcomes[5], Reason::Superseded));
    assert_eq!(outcomes[3], Outcome::from(Verdict::Same));
    assert_eq!(outcomes[4], Outcome::Deleted { moved: vec![content(1)], at: 3_500 });
    let moved = [
        (0, None, Some(1_000), Cause::Beat),
        (1, Some(1_000), Some(3_000), Cause::Beat),
        (4, Some(3_000), None, Cause::Delete),
        (6, None, Some(4_000), Cause::Beat),
    ];
    assert_eq!(moves(&transitions), moved);
    assert_eq!(ats(&store, &[1]), [Some(4_000)]);
}

pub fn a_resend_is_the_same_beat<B: Backend>() {
    let mut backend = B::fresh(ROOMY);
    commit(&backend.store(), beats(&[(1, 1_000)]));
    assert_eq!(commit(&backend.store(), beats(&[(1, 1_000)])), [Outcome::from(Verdict::Same)]);
    backend.reopen(ROOMY);
    assert_eq!(commit(&backend.store(), beats(&[(1, 1_000)])), [Outcome::from(Verdict::Same)]);
}

pub fn a_group_may_be_committed_again<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let group = || {
        let mut changes = beats(&[(1, 1_000), (2, 2_000), (3, 3_000)]);
        changes.extend([delete(&[1, 3], 2_500), recording(true, 2_900)]);
        changes
    };
    commit(&store, group());
    let state = (list(&store, USER, everything()), wait(store.paused(USER)).unwrap());
    let again = commit(&store, group());
    assert_eq!((list(&store, USER, everything()), wait(store.paused(USER)).unwrap()), state);
    assert_eq!(again[1], Outcome::from(Verdict::Same));
    assert_eq!(again[3], Outcome::Deleted { moved: vec![], at: 2_500 });
    assert_eq!(again[4], Outcome::Recording { changed: false, paused: true });
}

pub fn a_forgetting_that_comes_late_covers_nothing_newer<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let asked = || vec![delete(&[1], NOW), clear(NOW), recording(false, NOW)];
    commit(&store, asked());
    let later = NOW + 60_000;
    commit_at(&store, later, beats(&[(1, later - 2), (2, later - 1)]));
    commit_at(&store, later, vec![recording(true, later)]);
    let again = commit_at(&store, later, asked());
    assert!(matches!(&again[2], Outcome::Recording { paused: true, .. }), "{again:?}");
    assert_eq!(ats(&store, &[1, 2]), [Some(later - 2), Some(later - 1)]);
}

pub fn a_reopened_store_knows_everything<B: Backend>() {
    let mut backend = B::fresh(ROOMY);
    let mut changes = beats(&[(1, 1_000), (2, 2_000), (3, 3_000), (4, 4_000)]);
    changes.extend([delete(&[2], 2_500), clear(1_500), recording(true, 5_000)]);
    commit(&backend.store(), changes);
    let before = list(&backend.store(), USER, everything());
    backend.reopen(ROOMY);
    let store = backend.store();
    assert_eq!(list(&store, USER, everything()), before);
    assert_eq!(oids(&before), [4, 3]);
    assert!(wait(store.paused(USER)).unwrap());
    let late = commit(&store, beats(&[(2, 2_400), (9, 1_400), (3, 6_000)]));
    assert!(rejected(&late[0], Reason::Superseded) && rejected(&late[1], Reason::Superseded));
    assert!(rejected(&late[2], Reason::NotRecording));
}

pub fn get_answers_in_the_order_asked<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    commit(&store, beats(&[(1, 1_000), (2, 2_000)]));
    assert_eq!(ats(&store, &[2, 7, 1, 2]), [Some(2_000), None, Some(1_000), Some(2_000)]);
    let record = get(&store, USER, vec![content(1)]).remove(0).unwrap();
    assert_eq!((record.content, &*record.device, record.version), (content(1), "tv", Version(1_000_000)));
    assert!(get(&store, USER, vec![]).is_empty());
}

pub fn list_is_newest_first_and_filters_kinds<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let live = Content { kind: 2, oid: 5 };
    let mut changes = beats(&[(1, 1_000), (2, 9_000), (3, 5_000)]);
    changes.push(beat_of(USER, live, 5_000));
    commit(&store, changes);
    let all = list(&store, USER, everything());
    assert_eq!(oids(&all), [2, 5, 3, 1], "at one moment the greater content comes first");
    assert_eq!(all.next, None);
    assert_eq!(oids(&list(&store, USER, PageRequest { kinds: vec![2, 3], ..everything() })), [5]);
    let page = list(&store, USER, PageRequest { limit: 2, ..everything() });
    assert_eq!((oids(&page), page.next), (vec![2, 5], Some(Position { at: 5_000, content: live })));
}

pub fn users_do_not_see_each_other<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    // Neighbours in any order that the keys of a store may have.
    let users = [41, 42, 43, 42 << 8, (42 << 8) + 1, u64::MAX].map(UserId);
    commit(&store, users.iter().map(|user| beat_of(*user, content(user.0), 1_000)).collect());
    commit(&store, vec![clear(2_000), delete(&[41], 2_000), recording(true, 2_000)]);
    for user in users {
        let expected = if user == USER { vec![] } else { vec![user.0] };
        assert_eq!(oids(&list(&store, user, everything())), expected);
        assert_eq!(wait(store.paused(user)).unwrap(), user == USER);
    }
}

pub fn a_late_beat_does_not_undo_a_delete<B: Backend>() {
    let mut backend = B::fresh(ROOMY);
    let outcomes = commit(&backend.store(), vec![delete(&[1], 5_000), delete(&[1], 4_000)]);
    assert_eq!(outcomes[1], Outcome::Deleted { moved: vec![], at: 4_000 });
    for _ in 0..2 {
        assert!(rejected(&commit(&backend.store(), beats(&[(1, 5_000)]))[0], Reason::Superseded));
        assert_eq!(ats(&backend.store(), &[1]), [None]);
        backend.reopen(ROOMY);
    }
    let transitions = commit_group(&backend.store(), NOW, beats(&[(1, 5_001)])).transitions;
    assert_eq!(moves(&transitions), [(0, None, Some(5_001), Cause::Beat)]);
    let after = transitions[0].1.after.as_ref().unwrap();
    assert!(after.version > Version(5_000_999), "newer than the tombstone");
}

pub fn a_late_beat_does_not_undo_a_clear<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    commit(&store, beats(&[(1, 1_000), (2, 6_000)]));
    let outcomes = commit(&store, vec![clear(5_000), clear(4_000)]);
    let expected = [Outcome::Cleared { moved: true, at: 5_000 }, Outcome::Cleared { moved: false, at: 4_000 }];
    assert_eq!(outcomes, expected);
    assert_eq!(ats(&store, &[1, 2]), [None, Some(6_000)]);
    let late = commit(&store, beats(&[(1, 4_999), (3, 5_000), (1, 5_001)]));
    assert!(rejected(&late[0], Reason::Superseded) && rejected(&late[1], Reason::Superseded));
    assert_eq!(late[2], Outcome::from(Verdict::written(false)), "what was cleared is not played on");
    assert_eq!(oids(&list(&store, USER, everything())), [2, 1]);
}

pub fn a_delete_of_nothing_is_done<B: Backend>() {
    let backend = B::fresh(ROOMY);
    // Of many shards, and together no row.
    let deletes = (0..100).map(|user| Change { user: UserId(user), ..delete(&[], 1_000) }).collect();
    let done = Outcome::Deleted { moved: vec![], at: 1_000 };
    assert_eq!(commit(&backend.store(), deletes), vec![done; 100]);
}

pub fn a_forgetting_ahead_of_the_clock_is_refused<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    commit_at(&store, NOW + 60_000, beats(&[(1, NOW + 60_000)]));
    let ahead = NOW + 5_001;
    let outcomes = commit(&store, vec![delete(&[2], ahead), delete(&[1, 2], ahead), clear(ahead)]);
    assert_eq!(outcomes[0], Outcome::Ahead);
    assert_eq!(outcomes[1], Outcome::Deleted { moved: vec![content(1), content(2)], at: NOW + 5_001 });
    assert_eq!(outcomes[2], Outcome::Cleared { moved: true, at: NOW + 5_001 });
    assert_eq!(commit(&store, vec![recording(true, NOW + 70_000)]), [Outcome::Ahead]);
    assert_eq!(ats(&store, &[1]), [Some(NOW + 60_000)]);
}

pub fn a_pause_refuses_what_was_played_in_it<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    commit(&store, beats(&[(1, 2_500)]));
    let switches = vec![recording(false, 3_000), recording(true, 2_000)];
    let outcomes = commit(&store, switches);
    let unchanged = Outcome::Recording { changed: false, paused: false };
    assert_eq!(outcomes, [unchanged.clone(), unchanged], "what is newest says so");
    let outcomes = commit(&store, vec![recording(true, 4_000), recording(true, 4_001)]);
    assert_eq!(outcomes[0], Outcome::Recording { changed: true, paused: true });
    assert_eq!(outcomes[1], Outcome::Recording { changed: false, paused: true });
    let outcomes = commit(&store, vec![recording(false, 4_002)]);
    assert_eq!(outcomes[0], Outcome::Recording { changed: true, paused: false });
    let outcomes = commit(&store, beats(&[(2, 2_000), (2, 3_000), (2, 1_999), (2, 3_001)]));
    assert!(rejected(&outcomes[0], Reason::NotRecording) && rejected(&outcomes[1], Reason::NotRecording));
    assert!(written(&outcomes[2]) && written(&outcomes[3]));
    assert_eq!(ats(&store, &[1]), [Some(2_500)], "a pause erases nothing");
    assert!(!wait(store.paused(USER)).unwrap());
}

pub fn what_outlives_the_retention_is_in_no_read<B: Backend>() {
    let backend = B::fresh(Limits { retention_ms: 10_000, ..ROOMY });
    let store = backend.store();
    commit_at(&store, 5_000, beats(&[(1, 1_000), (2, 5_000)]));
    let read = |now| {
        let got = wait(store.get(USER, vec![content(1), content(2)], now)).unwrap();
        let listed = wait(store.list(USER, everything(), now, RowsRead::default())).unwrap();
        (got.records.iter().flatten().count(), oids(&listed))
    };
    assert_eq!(read(11_000), (2, vec![2, 1]));
    assert_eq!(read(11_001), (1, vec![2]));
    assert_eq!(read(15_001), (0, vec![]));
    let outcomes = commit_at(&store, 12_000, beats(&[(1, 6_000)]));
    assert_eq!(outcomes, [Outcome::from(Verdict::written(false))], "what has expired is not played on");
}

pub fn a_cursor_is_stable_while_beats_arrive<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    commit(&store, (0..50).map(|oid| beat_of(USER, content(oid), 1_000 + oid / 2)).collect());
    let mut request = PageRequest { limit: 7, ..everything() };
    let mut seen = Vec::new();
    let mut moved = Vec::new();
    for round in 0.. {
        let page = list(&store, USER, request.clone());
        seen.extend(oids(&page));
        let Some(next) = page.next else { break };
        request.after = Some(next);
        // One that has been shown and one that has not move to the top, and a new one comes.
        moved.extend([round, 49 - round]);
        commit(&store, beats(&[(round, 5_000 + round), (49 - round, 6_000 + round), (100 + round, 7_000)]));
    }
    seen.sort_unstable();
    let shown = seen.len();
    seen.dedup();
    assert_eq!(seen.len(), shown, "something was shown twice");
    assert!((0..50).all(|oid| moved.contains(&oid) || seen.contains(&oid)), "something was skipped");
}

pub fn a_read_sees_what_was_answered_before_it<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let writer = backend.store();
    let (answered, reads) = std::sync::mpsc::sync_channel(64);
    let commits = std::thread::spawn(move || {
        for at in 1..300 {
            commit(&writer, beats(&[(1, at)]));
            answered.send(at).unwrap();
        }
    });
    let store: Arc<dyn HotStore> = backend.store();
    for at in reads {
        assert!(ats(&store, &[1])[0] >= Some(at));
        assert!(list(&store, USER, everything()).records[0].at >= at);
    }
    commits.join().unwrap();
}
