//! Lists of finished records, and of those that are not.

use std::sync::Arc;
use std::time::Duration;

use heartline::model::beat::{Beat, State};
use heartline::model::change::{Action, Change};
use heartline::model::ids::Content;
use heartline::model::page::{Finished, PageRequest};
use heartline::model::reading::{KindOverride, Reading};
use heartline::model::rewards::rule::RuleSet;
use heartline::model::rows_read::RowsRead;
use heartline::storage::hot_store::HotStore;

use crate::backends::requests::*;

const DUR: u64 = 1_000;
/// More than are looked at for one page of a backend that reads the newest first.
const MANY: u64 = 4_500;

/// Contents of kind 3 are finished by their end alone.
fn reading() -> Reading {
    let of_articles = KindOverride {
        kind: 3,
        thresholds: false,
        resume_below: None,
        resume_below_max: None,
        finished_at: None,
        finished_remaining_max: None,
    };
    Reading {
        resume_below: 0.05,
        resume_below_max: Duration::ZERO,
        finished_at: 0.9,
        finished_remaining_max: Duration::ZERO,
        overrides: vec![of_articles],
    }
}

pub fn finished(wanted: bool) -> Option<Finished> {
    Some(Finished { wanted, reading: Arc::new(reading()) })
}

fn watched(content: Content, at: u64, pos: u64, state: State) -> Change {
    let beat = Beat { pos, dur: DUR, state, watched: Some(1), ..beat(content, at, 1) };
    change(USER, Action::beat(beat, Arc::from("tv"), RuleSet::NONE))
}

/// All pages, the contents of each and the rows looked at for it.
fn pages(store: &Arc<dyn HotStore>, mut request: PageRequest) -> Vec<(Vec<Content>, u64)> {
    let mut pages = Vec::new();
    loop {
        let rows = RowsRead::default();
        let page = wait(store.list(USER, request.clone(), NOW, rows.clone())).unwrap();
        assert!(page.records.len() <= request.limit);
        pages.push((page.records.iter().map(|record| record.content).collect(), rows.get()));
        if page.next.is_none() {
            return pages;
        }
        assert!(page.next < request.after || request.after.is_none(), "a page that does not come on");
        request.after = page.next;
    }
}

fn listed(store: &Arc<dyn HotStore>, request: PageRequest) -> Vec<Content> {
    pages(store, request).into_iter().flat_map(|(contents, _)| contents).collect()
}

pub fn a_list_of_finished_records_holds_those_alone<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let begun = [(0, State::Playing), (500, State::Paused), (899, State::Seeked)];
    let over = [(900, State::Playing), (1_000, State::Paused), (10, State::Ended)];
    let all =
        begun.map(|(pos, state)| (pos, state, false)).into_iter().chain(over.map(|(pos, state)| (pos, state, true)));
    let all: Vec<_> = (1..=3).flat_map(|kind| all.clone().map(move |of_kind| (kind, of_kind))).collect();
    // The newest first.
    let contents = (0..600).map(|oid| {
        let (kind, (pos, state, over)) = all[oid as usize % all.len()];
        let is_finished = if kind == 3 { state == State::Ended } else { over };
        (watched(Content { kind, oid }, 1_000 + 2 * (600 - oid), pos, state), Content { kind, oid }, is_finished)
    });
    let contents: Vec<_> = contents.collect();
    for group in contents.chunks(200) {
        commit(&store, group.iter().map(|(change, ..)| change.clone()).collect());
    }
    for (wanted, kinds, limit) in [
        (false, vec![], 7),
        (true, vec![], 7),
        (false, vec![1, 3], 20),
        (true, vec![3], 200),
        (true, vec![], usize::MAX),
    ] {
        let expected = contents.iter().filter(|(_, content, is_finished)| {
            *is_finished == wanted && (kinds.is_empty() || kinds.contains(&content.kind))
        });
        let expected: Vec<_> = expected.map(|(_, content, _)| *content).collect();
        let request = PageRequest { limit, after: None, kinds: kinds.clone(), finished: finished(wanted) };
        assert_eq!(listed(&store, request), expected, "finished {wanted}, of {kinds:?}, in pages of {limit}");
    }
}

/// A record that comes to its end moves from one list to the other.
pub fn a_record_is_in_the_list_of_what_it_is_now<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let oids = |wanted| {
        let page = list(&store, USER, PageRequest { finished: finished(wanted), ..everything() });
        oids(&page)
    };
    commit(
        &store,
        vec![watched(content(1), 1_000, 500, State::Playing), watched(content(2), 2_000, 500, State::Playing)],
    );
    assert_eq!((oids(false), oids(true)), (vec![2, 1], vec![]));
    // The one that is being played, and another.
    commit(&store, vec![watched(content(2), 3_000, 900, State::Playing)]);
    assert_eq!((oids(false), oids(true)), (vec![1], vec![2]));
    commit(&store, vec![watched(content(1), 4_000, 500, State::Ended)]);
    assert_eq!((oids(false), oids(true)), (vec![], vec![1, 2]));
    commit(&store, vec![watched(content(2), 5_000, 100, State::Playing)]);
    assert_eq!((oids(false), oids(true)), (vec![2], vec![1]));
}

/// What is not finished lies behind so many finished records, the oldest in the head, where its place is not known.
fn many_finished<B: Backend>() -> (B, Vec<Content>) {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let finished: Vec<_> = (0..MANY).map(|oid| watched(content(oid), 10_000 + oid, DUR, State::Ended)).collect();
    for group in finished.chunks(500) {
        commit(&store, group.to_vec());
    }
    let begun = [(MANY + 1, 11_000), (MANY + 2, 9_000), (MANY + 3, 8_000)];
    for (oid, at) in begun {
        commit(&store, vec![watched(content(oid), at, 500, State::Paused)]);
    }
    (backend, begun.map(|(oid, _)| content(oid)).to_vec())
}

pub fn unfinished_records_behind_many_others_are_found<B: Backend>() {
    let (backend, begun) = many_finished::<B>();
    let request = PageRequest { limit: 20, finished: finished(false), ..everything() };
    let pages = pages(&backend.store(), request);
    let found: Vec<_> = pages.iter().flat_map(|(contents, _)| contents.clone()).collect();
    assert_eq!(found, begun);
    let rows: u64 = pages.iter().map(|(_, rows)| rows).sum();
    assert!(rows >= MANY, "{rows} rows for {MANY} records: those that are not on a page count, too");
}

pub fn a_page_of_unfinished_records_is_cut_short<B: Backend>() {
    let (backend, begun) = many_finished::<B>();
    let store = backend.store();
    for limit in [1, 20, 200] {
        let pages = pages(&store, PageRequest { limit, finished: finished(false), ..everything() });
        let found: Vec<_> = pages.iter().flat_map(|(contents, _)| contents.clone()).collect();
        assert_eq!(found, begun, "each once, in pages of {limit}");
        assert!(pages.iter().all(|(_, rows)| *rows <= 2_300), "{pages:?}");
        assert!(pages[0].0.is_empty() && pages.len() > 2, "{pages:?}");
    }
}
