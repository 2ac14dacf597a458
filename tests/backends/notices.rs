//! The promises of [`Notices`], for all stores that have them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heartline::model::change::{Action, Change};
use heartline::model::ids::UserId;
use heartline::model::notices::{Followed, ForgottenCause, Notice};
use heartline::model::rewards::rule::RuleSet;
use heartline::storage::hot_store::HotStore;
use heartline::storage::notices::{Notices, Taken};

use crate::backends::requests::*;

const LONG: Duration = Duration::from_secs(3_600);
/// When the notice of a steady beat of [`NOW`] is due.
const LATER: u64 = NOW + Notice::STEADY;

pub trait NoticesBackend: Backend {
    fn notices(&self) -> Arc<dyn Notices>;
}

fn follow(notices: &Arc<dyn Notices>, followed: Followed) {
    notices.followed().set(followed, Instant::now(), LONG);
}

fn followed<B: NoticesBackend>(followed: Followed) -> (B, Arc<dyn HotStore>, Arc<dyn Notices>) {
    let backend = B::fresh(ROOMY);
    let (store, notices) = (backend.store(), backend.notices());
    follow(&notices, followed);
    (backend, store, notices)
}

fn take(notices: &Arc<dyn Notices>, now: u64) -> Vec<Taken> {
    wait(notices.take(now, 1_000)).expect("notices")
}

/// Takes and removes. Each position by its user and oid, each forgetting by its cause.
fn told(notices: &Arc<dyn Notices>, now: u64) -> Vec<String> {
    let taken = take(notices, now);
    let name = |taken: &Taken| match &taken.notice {
        Notice::Position { user, content } => format!("{}:{}", user.0, content.oid),
        Notice::Forgotten(forgotten) => format!("{}:{}", forgotten.user.0, forgotten.cause.word()),
    };
    let mut names: Vec<String> = taken.iter().map(name).collect();
    names.sort();
    wait(notices.remove(taken)).expect("they are removed");
    names
}

fn steady(at: u64) -> Vec<Change> {
    vec![beat_of(USER, content(1), at)]
}

pub fn a_change_leaves_a_notice_of_what_is_followed<B: NoticesBackend>() {
    let (_backend, store, notices) = followed::<B>(Followed::NONE);
    let changes = |oid, at| {
        let erase = change(UserId(43), Action::Erase { at });
        vec![beat_of(USER, content(oid), at), beat_of(UserId(43), content(oid), at), erase]
    };
    commit(&store, changes(1, NOW));
    assert!(told(&notices, LATER).is_empty());
    follow(&notices, Followed { positions: true, forgotten: false });
    commit(&store, changes(2, NOW + 1));
    assert_eq!(told(&notices, LATER), ["42:2", "43:2"], "the record itself is not looked at");
    follow(&notices, Followed { positions: false, forgotten: true });
    commit(&store, changes(3, NOW + 2));
    assert_eq!(told(&notices, LATER), ["43:erase"]);
    assert!(told(&notices, LATER).is_empty());
}

pub fn steady_beats_leave_one_notice_that_is_due_later<B: NoticesBackend>() {
    let (_backend, store, notices) = followed::<B>(Followed::ALL);
    for at in NOW..NOW + 20 {
        commit(&store, steady(at));
    }
    assert_eq!(told(&notices, NOW), ["42:1"], "the first is new");
    assert!(told(&notices, LATER - 1).is_empty());
    assert_eq!(told(&notices, LATER), ["42:1"]);
    assert!(told(&notices, u64::MAX / 4).is_empty());
}

pub fn a_beat_after_the_take_leaves_a_notice_of_its_own<B: NoticesBackend>() {
    let (_backend, store, notices) = followed::<B>(Followed::ALL);
    commit(&store, steady(NOW));
    commit(&store, steady(NOW + 1));
    let taken = take(&notices, LATER);
    assert_eq!(taken.iter().filter(|taken| matches!(taken.notice, Notice::Position { .. })).count(), taken.len());
    commit_at(&store, LATER, steady(LATER));
    wait(notices.remove(taken)).expect("they are removed");
    assert!(told(&notices, LATER).is_empty());
    assert_eq!(told(&notices, LATER + Notice::STEADY), ["42:1"]);
    // Also one that is due at once.
    let other = || vec![change(USER, Action::Delete { contents: vec![content(1)], at: LATER })];
    commit_at(&store, LATER, other());
    commit_at(&store, LATER + 1, steady(LATER + 1));
    let taken = take(&notices, LATER + 1);
    commit_at(&store, LATER + 1, vec![beat_of(USER, content(2), LATER + 2), clear(LATER + 3)]);
    commit_at(&store, LATER + 4, steady(LATER + 4));
    wait(notices.remove(taken)).expect("they are removed");
    assert_eq!(told(&notices, LATER + 4), ["42:1", "42:2", "42:clear"]);
}

pub fn what_is_taken_comes_again_until_it_is_removed<B: NoticesBackend>() {
    let (mut backend, store, notices) = followed::<B>(Followed::ALL);
    commit(&store, vec![beat_of(USER, content(1), NOW), beat_of(UserId(43), content(1), NOW)]);
    commit(&store, vec![delete(&[1], NOW)]);
    let count = |taken: Vec<Taken>| {
        let mut of: Vec<_> = taken.into_iter().map(|taken| format!("{:?}", taken.notice)).collect();
        of.sort();
        of.dedup();
        of.len()
    };
    assert_eq!(count(take(&notices, NOW)), 3);
    assert_eq!(count(take(&notices, NOW)), 3);
    drop((store, notices));
    backend.reopen(ROOMY);
    let notices = backend.notices();
    assert_eq!(count(take(&notices, NOW)), 3);
    assert_eq!(told(&notices, NOW).len(), 3);
    assert!(take(&notices, LATER).is_empty());
}

pub fn each_forgetting_is_told_apart<B: NoticesBackend>() {
    let (_backend, store, notices) = followed::<B>(Followed::ALL);
    commit(&store, vec![beat_of(USER, content(1), NOW), beat_of(USER, content(2), NOW)]);
    told(&notices, NOW);
    commit(&store, vec![delete(&[1], NOW), delete(&[2], NOW)]);
    commit(&store, vec![delete(&[1], NOW)]);
    commit(&store, vec![clear(NOW), erase()]);
    commit(&store, vec![erase()]);
    let mut forgotten: Vec<_> = take(&notices, NOW)
        .into_iter()
        .map(|taken| match taken.notice {
            Notice::Forgotten(forgotten) => forgotten,
            other => panic!("{other:?}"),
        })
        .collect();
    forgotten.sort_by_key(|forgotten| forgotten.version);
    let short: Vec<_> =
        forgotten.iter().map(|forgotten| (forgotten.cause, forgotten.items.clone(), forgotten.at >= NOW)).collect();
    let expected = [
        (ForgottenCause::Delete, vec![content(1)], true),
        (ForgottenCause::Delete, vec![content(2)], true),
        (ForgottenCause::Clear, vec![], true),
        (ForgottenCause::Erase, vec![], true),
    ];
    assert_eq!(short, expected, "what did nothing is not told");
    forgotten.dedup_by_key(|forgotten| forgotten.version);
    assert_eq!(forgotten.len(), 4, "each version once");
}

pub fn of_a_position_that_changes_all_the_time_one_notice_waits_that_is_due_at_once<B: NoticesBackend>() {
    let (_backend, store, notices) = followed::<B>(Followed::ALL);
    let session = |at| Action::beat(beat(content(1), at, at), Arc::from("tv"), RuleSet::NONE);
    let flips = |from: u64| (from..from + 15).map(|at| change(USER, session(at))).collect::<Vec<_>>();
    commit(&store, flips(NOW));
    flips(NOW + 15).into_iter().for_each(|flip| drop(commit(&store, vec![flip])));
    assert_eq!(take(&notices, NOW).len(), 1);
    assert_eq!(told(&notices, NOW), ["42:1"]);
}

pub fn a_user_has_some_notices_that_are_due_at_once_and_the_rest_later<B: NoticesBackend>() {
    let (_backend, store, notices) = followed::<B>(Followed::ALL);
    let contents = || (1..=100).map(|oid| beat_of(USER, content(oid), NOW));
    commit(&store, contents().chain([beat_of(UserId(43), content(1), NOW), delete(&[1], NOW)]).collect());
    let now = told(&notices, NOW);
    assert!(now.len() < 40, "{now:?}");
    assert!(now.contains(&"43:1".to_owned()) && now.contains(&"42:delete".to_owned()), "{now:?}");
    let later: Vec<String> =
        std::iter::repeat_with(|| told(&notices, LATER)).take_while(|told| !told.is_empty()).flatten().collect();
    let told: BTreeSet<&String> = now.iter().chain(&later).filter(|name| name.starts_with("42:")).collect();
    assert_eq!(told.len(), 101, "all are told");
    commit_at(&store, LATER, vec![beat_of(USER, content(200), LATER)]);
    assert_eq!(take(&notices, LATER).len(), 1, "after a while one is due at once again");
}

pub fn notices_of_many_users_are_all_taken<B: NoticesBackend>() {
    let (_backend, store, notices) = followed::<B>(Followed::ALL);
    let users = 3_000..5_000;
    for chunk in users.clone().collect::<Vec<u64>>().chunks(500) {
        commit(&store, chunk.iter().map(|user| beat_of(UserId(*user), content(1), NOW)).collect());
    }
    let mut all = Vec::new();
    loop {
        let taken = wait(notices.take(NOW, 100)).expect("notices");
        if taken.is_empty() {
            break;
        }
        all.extend(taken.iter().map(|taken| taken.notice.user().0));
        wait(notices.remove(taken)).expect("they are removed");
    }
    all.sort_unstable();
    assert_eq!(all, users.collect::<Vec<_>>());
}
