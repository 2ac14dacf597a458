//! Lists of long histories: whole, in order, and counted.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use heartline::model::ids::{Content, UserId};
use heartline::model::page::PageRequest;
use heartline::model::rows_read::RowsRead;

use crate::backends::requests::*;

/// More than one slice, or one call, of each kind.
const OF_EACH_KIND: u64 = 300;
const KINDS: u16 = 3;

/// Contents of all kinds, the newest first; of the same time, as the list has them.
fn newest_first() -> Vec<(Content, u64)> {
    let contents = (0..OF_EACH_KIND).flat_map(|oid| (1..=KINDS).map(move |kind| Content { kind, oid }));
    let mut contents: Vec<_> = contents.map(|content| (content, 1_000 + content.oid * 7 % 100)).collect();
    contents.sort_unstable_by_key(|(content, at)| std::cmp::Reverse((*at, *content)));
    contents
}

fn filled<B: Backend>() -> B {
    let backend = B::fresh(ROOMY);
    let beats: Vec<_> = newest_first().into_iter().map(|(content, at)| beat_of(USER, content, at)).collect();
    for group in beats.chunks(500) {
        commit(&backend.store(), group.to_vec());
    }
    backend
}

pub fn a_long_history_is_listed_whole_and_in_order<B: Backend>() {
    let backend = filled::<B>();
    let store = backend.store();
    for (kinds, limit) in [(vec![], usize::MAX), (vec![], 200), (vec![3, 1, 3], 200), (vec![2], 7), (vec![9], 10)] {
        let wanted = |kind| kinds.is_empty() || kinds.contains(&kind);
        let mut request = PageRequest { limit, kinds: kinds.clone(), ..everything() };
        let mut listed = Vec::new();
        loop {
            let page = list(&store, USER, request.clone());
            assert!(page.records.len() <= limit);
            listed.extend(page.records.iter().map(|record| (record.content, record.at)));
            match page.next {
                None => break,
                next => request.after = next,
            }
        }
        let expected: Vec<_> = newest_first().into_iter().filter(|(content, _)| wanted(content.kind)).collect();
        assert!(listed == expected, "{kinds:?} in pages of {limit}");
    }
}

/// As one frame may leave them.
pub fn any_number_of_contents_of_one_moment_is_listed<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let contents: Vec<Content> = (0..700).map(|oid| Content { kind: 1 + (oid % 3) as u16, oid }).collect();
    commit(&store, contents.iter().map(|content| beat_of(USER, *content, 1_000)).collect());
    for kinds in [vec![], vec![2], vec![1, 3]] {
        let mut request = PageRequest { limit: 200, kinds: kinds.clone(), ..everything() };
        let mut listed = Vec::new();
        loop {
            let page = list(&store, USER, request.clone());
            listed.extend(page.records.iter().map(|record| record.content));
            match page.next {
                None => break,
                next => request.after = next,
            }
        }
        let mut expected = contents.clone();
        expected.retain(|content| kinds.is_empty() || kinds.contains(&content.kind));
        expected.sort_unstable_by_key(|content| std::cmp::Reverse(*content));
        assert!(listed == expected, "{kinds:?}");
    }
}

pub fn a_list_counts_every_row_that_it_looks_at<B: Backend>() {
    let backend = filled::<B>();
    let store = backend.store();
    let counted = |user, request| {
        let rows = RowsRead::default();
        let page = wait(store.list(user, request, NOW, rows.clone())).unwrap();
        (page.records.len() as u64, rows.get())
    };
    let all = OF_EACH_KIND * u64::from(KINDS);
    let (records, rows) = counted(USER, everything());
    assert_eq!(records, all);
    // Those of one time may be looked at again where a call has ended among them.
    assert!((all..=all + all / 10).contains(&rows), "{rows} rows");
    let (records, rows) = counted(USER, PageRequest { limit: 10, ..everything() });
    assert!(records == 10 && rows > 10, "{rows} rows");
    assert_eq!(counted(UserId(7), everything()), (0, 1), "an empty history costs next to nothing");
}

/// A page that one step reads. The writer moves two contents at once, one of which is then the one being played.
pub fn a_page_is_of_one_moment_while_commits_go_on<B: Backend>() {
    const LAST: u64 = 99;
    const GROUPS: u64 = 1_000;
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    commit(&store, (0..=LAST).map(|oid| beat_of(USER, content(oid), 1_000)).collect());
    let writer = store.clone();
    let writer = thread::spawn(move || {
        for at in (0..GROUPS).map(|group| 2_000 + group) {
            commit(&writer, vec![beat_of(USER, content(0), at), beat_of(USER, content(LAST), at)]);
            thread::sleep(Duration::from_millis(1));
        }
    });
    let mut moments = HashSet::new();
    while !writer.is_finished() {
        let page = list(&store, USER, everything());
        let oids: HashSet<u64> = page.records.iter().map(|record| record.content.oid).collect();
        assert!(oids.len() as u64 == LAST + 1 && page.records.len() == oids.len(), "{oids:?}");
        let at = |oid| page.records.iter().find(|record| record.content.oid == oid).map(|record| record.at);
        assert_eq!(at(0), at(LAST));
        moments.insert(at(0));
    }
    writer.join().unwrap();
    assert!(moments.len() > 10, "listed {moments:?}");
}

/// Contents before the cursor come and go while pages are read.
pub fn pages_hold_what_does_not_move_once_while_newer_contents_come_and_go<B: Backend>() {
    const STAY: u64 = 60;
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    commit(&store, (0..STAY).map(|oid| beat_of(USER, content(oid), 1_000 + oid)).collect());
    let writer = store.clone();
    let writer = thread::spawn(move || {
        for turn in 0..500 {
            let (oids, at) = ([100 + turn % 7, 200 + turn % 5], 10_000 + 10 * turn);
            commit(&writer, oids.iter().map(|oid| beat_of(USER, content(*oid), at)).collect());
            thread::sleep(Duration::from_micros(300));
            commit(&writer, vec![delete(&oids, at + 1)]);
        }
    });
    let mut lists = 0;
    while !writer.is_finished() {
        let mut request = PageRequest { limit: 7, ..everything() };
        let mut listed = Vec::new();
        loop {
            let page = list(&store, USER, request.clone());
            listed.extend(page.records.iter().map(|record| record.content.oid).filter(|oid| *oid < STAY));
            match page.next {
                None => break,
                next => request.after = next,
            }
        }
        assert_eq!(listed, (0..STAY).rev().collect::<Vec<_>>());
        lists += 1;
    }
    writer.join().unwrap();
    assert!(lists > 5, "{lists} lists");
}

pub fn a_page_goes_on_after_a_cursor_whose_content_is_gone<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    commit(&store, (0..60).map(|oid| beat_of(USER, content(oid), 1_000)).collect());
    let mut request = PageRequest { limit: 20, ..everything() };
    let mut listed = Vec::new();
    for _ in 0..3 {
        let page = list(&store, USER, request.clone());
        listed.extend(page.records.iter().map(|record| record.content.oid));
        let Some(last) = page.next else { break };
        commit(&store, vec![delete(&[last.content.oid], 1_001)]);
        request.after = Some(last);
    }
    assert_eq!(listed, (0..60).rev().collect::<Vec<_>>());
}
