//! The users of a store, ascending.

use std::sync::Arc;

use heartline::model::change::Action;
use heartline::model::ids::{Content, UserId};
use heartline::model::page::UsersRequest;
use heartline::model::walk::{WalkRequest, Walked};
use heartline::storage::hot_store::HotStore;

use crate::backends::requests::*;

const VIDEO: Content = Content { kind: 1, oid: 100 };
const ARTICLE: Content = Content { kind: 3, oid: 100 };

fn page(store: &Arc<dyn HotStore>, after: Option<u64>, limit: usize, kinds: &[u16]) -> Vec<u64> {
    let request = UsersRequest { after: after.map(UserId), limit, kinds: kinds.to_vec() };
    wait(store.users(request, NOW)).unwrap().into_iter().map(|user| user.0).collect()
}

/// All of them, in pages.
fn all(store: &Arc<dyn HotStore>, limit: usize, kinds: &[u16]) -> Vec<u64> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let users = page(store, after, limit, kinds);
        found.extend(&users);
        if users.len() < limit {
            return found;
        }
        after = users.last().copied();
    }
}

pub fn users_with_records_are_named_once_and_in_order<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let mids: Vec<u64> = (0..300).map(|n| n * n * 7).chain([u64::MAX - 1, u64::MAX]).collect();
    // The last comes first; some have several records, and more rows than a slice.
    let beats = mids.iter().rev().flat_map(|mid| {
        let contents = (0..1 + mid % 3).map(|oid| Content { kind: 1, oid });
        contents.map(|content| beat_of(UserId(*mid), content, NOW - 5)).collect::<Vec<_>>()
    });
    commit(&store, beats.collect());
    commit(&store, (0..400).map(|oid| beat_of(UserId(7), Content { kind: 2, oid }, NOW - 5)).collect());
    for limit in [1_000, 302, 100, 7] {
        assert!(all(&store, limit, &[]) == mids, "in pages of {limit}");
    }
    assert_eq!(page(&store, Some(6), 2, &[]), [7, 28]);
    assert_eq!(page(&store, Some(7), 2, &[]), [28, 63]);
    assert_eq!(page(&store, Some(u64::MAX), 2, &[]), [0; 0]);
    // A page that is asked for anew sees what has come.
    commit(&store, vec![beat_of(UserId(8), VIDEO, NOW - 5)]);
    assert_eq!(page(&store, Some(6), 3, &[]), [7, 8, 28]);
}

/// The records of a walk in pages of this size, and what `between` does after each.
fn walked(store: &Arc<dyn HotStore>, limit: usize, kinds: &[u16], mut between: impl FnMut(usize)) -> Vec<Content> {
    let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let request = WalkRequest { limit, after, kinds: kinds.to_vec() };
        let Walked { records, next, .. } = wait(store.walk(USER, request, NOW)).expect("a page");
        assert!(records.len() <= limit);
        found.extend(records.iter().map(|record| record.content));
        (after, pages) = (next, pages + 1);
        if after.is_none() {
            return found;
        }
        between(pages);
    }
}

pub fn a_walk_meets_each_record_once_whatever_is_played_meanwhile<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let all: Vec<Content> = (1..=600).map(content).collect();
    commit(&store, all.iter().map(|content| beat_of(USER, *content, 1_000 + content.oid)).collect());
    commit(&store, vec![beat_of(UserId(43), content(601), 1_000)]);
    for limit in [7, 100, 600, 700] {
        // One that is behind the walk moves ahead of all, and one that is still to come.
        let play = |page: usize| {
            let at = 10_000 * limit as u64 + page as u64;
            commit(&store, vec![beat_of(USER, content(1), at), beat_of(USER, content(600), at)]);
        };
        assert_eq!(walked(&store, limit, &[], play), all, "in pages of {limit}");
    }
}

pub fn a_walk_shows_the_live_records_of_some_kinds<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let of_kind = |kind, oid| Content { kind, oid };
    let contents = (1..=4).flat_map(|kind| (1..=5).map(move |oid| of_kind(kind, oid)));
    commit(&store, contents.map(|content| beat_of(USER, content, 1_000 + content.oid)).collect());
    let delete = Action::Delete { contents: vec![of_kind(2, 3), of_kind(2, 4)], at: 5_000 };
    commit(&store, vec![change(USER, delete), change(USER, Action::Clear { at: 1_001 })]);
    for limit in [100, 3, 1] {
        let shown = walked(&store, limit, &[2, 4], |_| {});
        let of_two = [2, 5].map(|oid| of_kind(2, oid));
        let of_four = [2, 3, 4, 5].map(|oid| of_kind(4, oid));
        assert_eq!(shown, [&of_two[..], &of_four].concat(), "in pages of {limit}");
    }
    assert_eq!(walked(&store, 5, &[9], |_| {}), []);
}

pub fn users_without_a_record_that_is_shown_are_not_named<B: Backend>() {
    let backend = B::fresh(Limits { retention_ms: 90 * 86_400_000, ..ROOMY });
    let store = backend.store();
    let users = [(1, VIDEO), (2, VIDEO), (3, ARTICLE), (4, VIDEO), (5, VIDEO), (6, VIDEO)];
    commit(&store, users.map(|(mid, content)| beat_of(UserId(mid), content, NOW - 1_000)).to_vec());
    commit(&store, vec![beat_of(UserId(2), ARTICLE, NOW - 1_000), beat_of(UserId(6), ARTICLE, NOW - 1_000)]);
    let delete = |mid| change(UserId(mid), Action::Delete { contents: vec![VIDEO], at: NOW });
    commit(&store, vec![change(UserId(4), Action::Clear { at: NOW }), delete(5), delete(6)]);
    // Only a switch of recording is kept.
    commit(&store, vec![change(UserId(9), Action::Recording { paused: true, at: NOW })]);
    assert_eq!(all(&store, 2, &[]), [1, 2, 3, 6]);
    assert_eq!(all(&store, 2, &[3]), [2, 3, 6]);
    assert_eq!(all(&store, 2, &[2, 9]), [0; 0]);
    let later = UsersRequest { after: None, limit: 10, kinds: Vec::new() };
    assert_eq!(wait(store.users(later, NOW + 91 * 86_400_000)).unwrap(), [], "all of them have expired");
}
