//! Rankings against exact counts.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn content(oid: u64) -> Content {
    Content { kind: 1, oid }
}

/// The table beside the exact counts.
#[derive(Clone)]
struct Exact(BTreeMap<Content, u32>);

impl Exact {
    fn all(&self) -> u64 {
        self.0.values().copied().map(u64::from).sum()
    }

    fn join(&mut self, top: &mut Top, content: Content) {
        let sessions = self.0.entry(content).or_default();
        *sessions += 1;
        top.joined(content, *sessions);
    }

    fn leave(&mut self, top: &mut Top, content: Content) {
        let Some(sessions) = self.0.get_mut(&content) else { return };
        *sessions -= 1;
        top.left(content, *sessions);
        if *sessions == 0 {
            self.0.remove(&content);
        }
    }

    fn ranked(&self) -> Vec<Ranked> {
        let mut ranked: Vec<_> =
            self.0.iter().map(|(content, sessions)| Ranked { content: *content, sessions: *sessions }).collect();
        // Stable: equals stay in the order of their contents.
        ranked.sort_by_key(|one| std::cmp::Reverse(one.sessions));
        ranked.truncate(RANKED_MAX);
        ranked
    }

    /// Checks that the ranked counts are exact, and that missing contents have no more sessions than the error.
    fn judge(&self, top: &Top) {
        let Ranking { ranked, error } = top.now(self.all());
        for Ranked { content, sessions } in &ranked {
            assert_eq!(self.0.get(content), Some(sessions));
        }
        assert!(top.table.len() <= top.most && top.past.len() <= top.most);
        let outside = self.0.iter().filter(|(content, _)| !top.table.contains_key(content));
        let missed = outside.map(|(_, sessions)| *sessions).max();
        assert!(missed.unwrap_or(0) <= error, "{missed:?} is missed, {error} at most is said");
        if error == 0 {
            assert_eq!(ranked, self.ranked());
        }
    }
}

proptest! {
    #[test]
    fn the_ranking_is_within_its_error(steps in prop::collection::vec((0..60_u64, 0..8_u8), 1..400)) {
        let (mut top, mut exact) = (Top::new(8), Exact(BTreeMap::new()));
        let mut second = 0;
        for (oid, step) in steps {
            match step {
                0..=3 => exact.join(&mut top, content(oid * oid / 60)),
                4..=5 => exact.leave(&mut top, content(oid * oid / 60)),
                6 => {
                    second += 1 + oid;
                    top.note(second, exact.all());
                }
                _ => top.rebuild(exact.0.iter().map(|(content, sessions)| (*content, *sessions))),
            }
            exact.judge(&top);
        }
    }
}

#[test]
fn contents_with_equal_counts_are_ordered_by_kind_and_oid() {
    let (mut top, mut exact) = (Top::new(1_000), Exact(BTreeMap::new()));
    for (kind, oid) in [(2, 1), (1, 30), (1, 4), (3, 0)] {
        exact.join(&mut top, Content { kind, oid });
    }
    exact.join(&mut top, Content { kind: 3, oid: 0 });
    let order: Vec<_> = top.now(exact.all()).ranked.iter().map(|one| (one.content.kind, one.content.oid)).collect();
    assert_eq!(order, [(3, 0), (1, 4), (1, 30), (2, 1)]);
}

#[test]
fn the_error_is_0_whenever_the_table_holds_all_contents() {
    let (mut top, mut exact) = (Top::new(100), Exact(BTreeMap::new()));
    (0..100).for_each(|oid| exact.join(&mut top, content(oid)));
    assert_eq!(top.now(exact.all()).error, 0);
    exact.join(&mut top, content(100));
    assert_eq!(top.now(exact.all()).error, 1);
    (0..60).for_each(|oid| exact.leave(&mut top, content(oid)));
    top.rebuild(exact.0.iter().map(|(content, sessions)| (*content, *sessions)));
    assert_eq!(top.now(exact.all()), Ranking { ranked: exact.ranked(), error: 0 });
}

/// 1,000,000 views of 100,000 contents, the most popular ones far ahead, in a table of 10,000.
#[test]
fn the_first_100_of_a_zipf_load_are_found() {
    let (mut top, mut exact) = (Top::new(10_000), Exact(BTreeMap::new()));
    let weights: Vec<f64> = (1..=100_000).map(|rank| 1.0 / f64::from(rank)).collect();
    let mut sums: Vec<f64> = weights
        .iter()
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect();
    let whole = *sums.last().expect("weights");
    sums.iter_mut().for_each(|sum| *sum /= whole);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut watching = std::collections::VecDeque::new();
    for _ in 0..1_000_000 {
        let rank = sums.partition_point(|sum| *sum < random()) as u64;
        // Popularity says nothing of the number of a content.
        let watched = content(rank.wrapping_mul(0x9e37_79b9) % 1_000_003);
        exact.join(&mut top, watched);
        watching.push_back(watched);
        if watching.len() > 300_000 {
            exact.leave(&mut top, watching.pop_front().expect("sessions"));
        }
    }
    exact.judge(&top);
    let (ranking, truth) = (top.now(exact.all()), exact.ranked());
    let found = truth.iter().filter(|one| ranking.ranked.contains(one)).count();
    assert!(found >= 99, "{found} of 100");
    assert!(ranking.error < truth[99].sessions, "{} is said to be missed", ranking.error);
}

#[test]
fn the_content_that_gains_most_is_first_and_losing_ones_are_left_out() {
    let (mut top, mut exact) = (Top::new(100), Exact(BTreeMap::new()));
    (0..20).for_each(|_| exact.join(&mut top, content(1)));
    (0..10).for_each(|_| exact.join(&mut top, content(2)));
    for second in 6_000..6_600 {
        top.note(second, exact.all());
    }
    assert_eq!(top.rising(exact.all()).ranked, []);
    (0..3).for_each(|_| exact.join(&mut top, content(2)));
    (0..2).for_each(|_| exact.join(&mut top, content(3)));
    (0..2).for_each(|_| exact.join(&mut top, content(4)));
    exact.leave(&mut top, content(1));
    let rising: Vec<_> = top.rising(exact.all()).ranked.iter().map(|one| (one.content.oid, one.sessions)).collect();
    assert_eq!(rising, [(2, 13), (3, 2), (4, 2)]);
}

#[test]
fn a_returning_content_is_compared_with_its_earlier_count() {
    let (mut top, mut exact) = (Top::new(100), Exact(BTreeMap::new()));
    (0..20).for_each(|_| exact.join(&mut top, content(1)));
    (6_000..6_600).for_each(|second| top.note(second, exact.all()));
    (0..20).for_each(|_| exact.leave(&mut top, content(1)));
    (6_600..6_605).for_each(|second| top.note(second, exact.all()));
    exact.join(&mut top, content(1));
    exact.join(&mut top, content(2));
    let rising: Vec<_> = top.rising(exact.all()).ranked.iter().map(|one| one.content.oid).collect();
    assert_eq!(rising, [2]);
    // 15 minutes later it is as new as the other one.
    (6_605..8_000).for_each(|second| top.note(second, exact.all()));
    assert!(top.past.is_empty() && top.rising(exact.all()).ranked.is_empty());
}
