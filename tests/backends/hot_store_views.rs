//! What a hot store promises of views by playback: they are counted by the commit of their beat.

use std::sync::Arc;
use std::time::Duration;

use heartline::model::beat::Beat;
use heartline::model::change::{Action, Change};
use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::rewards::calendar::RewardDay;
use heartline::model::rewards::day::Day;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::rewards::rule::{Per, RewardRule, RuleMemory, Rules};
use heartline::model::shard::Shards;
use heartline::storage::hot_store::HotStore;

use crate::backends::requests::*;
use crate::backends::views::{ViewsBackend, days, totals};
use crate::backends::views_gateway::PLAYED;

const WATCHED: Duration = Duration::from_secs(2);
const OTHER: UserId = UserId(43);

pub trait PlaybackBackend: ViewsBackend {
    fn hot_store(&self) -> Arc<dyn HotStore>;
    /// Entries of the outbox.
    fn outbox_entries(&self) -> u64;
}

fn film(oid: u64) -> Content {
    Content { kind: PLAYED, oid }
}

fn day(number: u16) -> Day {
    Day::of_number(20_000 + number)
}

/// A reward for the first beat of the day, and the views.
fn rewarding(on: u16, claims_max: u64) -> Rewarding {
    let reward = RewardRule {
        id: Arc::from("at-once"),
        per: Per::User,
        kinds: vec![1],
        watched: Duration::ZERO,
        memory: RuleMemory::Exact,
    };
    let rules = Rules::new(vec![reward]).and(Some(RewardRule::of_views(vec![PLAYED], WATCHED)));
    let today = RewardDay { day: day(on), rules: rules.all(), zone: Arc::from("UTC") };
    Rewarding { rules: Arc::new(rules), today, claims_max }
}

/// A beat that asks for everything. `at`: after [`NOW`], milliseconds.
fn beat_at(user: UserId, content: Content, session: u64, at: u64) -> Change {
    let beat = Beat { session: SessionId(session), watched: Some(at), ..beat(content, NOW + at, session) };
    change(user, Action::beat(beat, Arc::from("tv"), rewarding(0, 0).rules.all()))
}

/// Commits as one group. Returns how many views it has counted.
fn commit_on(store: &Arc<dyn HotStore>, on: u16, at: u64, changes: Vec<Change>) -> usize {
    let committed = commit_rewarded(store, NOW + at, rewarding(on, 0), changes);
    committed.decided.iter().filter(|decided| decided.first).count()
}

/// Plays until what must have been watched is watched. Returns how many views were counted.
fn play(store: &Arc<dyn HotStore>, user: UserId, oid: u64, session: u64, on: u16, at: u64) -> usize {
    let beats = [0, 1_000, 2_000, 3_000].map(|after| at + after);
    beats.into_iter().map(|at| commit_on(store, on, at, vec![beat_at(user, film(oid), session, at)])).sum()
}

pub fn a_user_views_a_content_once_a_day<B: PlaybackBackend>() {
    let mut backend = B::empty();
    for opened in 0..2 {
        let store = backend.hot_store();
        let first = usize::from(opened == 0);
        let at = opened * 1_000_000;
        assert_eq!(play(&store, USER, 1, 1, 1, at), first);
        assert_eq!(play(&store, USER, 1, 2, 1, at + 10_000), 0, "another session");
        assert_eq!(play(&store, OTHER, 1, 3, 1, at + 20_000), first, "another user");
        assert_eq!(play(&store, USER, 2, 4, 1, at + 30_000), first, "another content");
        assert_eq!(play(&store, USER, 1, 2, 2, at + 40_000), first, "the session goes on, on another day");
        let other_kind = [0, 5_000].map(|after| beat_at(USER, content(1), 9, at + 50_000 + after));
        assert_eq!(commit_on(&store, 2, at + 60_000, other_kind.to_vec()), 0, "a kind that is not counted");
        drop(store);
        backend = backend.reopened();
    }
    backend.flush();
    let views = backend.views();
    assert_eq!(totals(&views, &[film(1), film(2), content(1)]), [Some(3), Some(1), Some(0)]);
    assert_eq!(days(&views, film(1)), [(day(1), 2), (day(2), 1)]);
    assert_eq!(days(&views, film(2)), [(day(1), 1)]);
}

pub fn a_view_needs_the_credit_of_rewards<B: PlaybackBackend>() {
    let backend = B::empty();
    let store = backend.hot_store();
    let beat = |at, watched| {
        let beat = Beat { watched: Some(watched), ..beat(film(1), NOW + at, 1) };
        let action = Action::beat(beat, Arc::from("tv"), rewarding(0, 0).rules.all());
        commit_on(&store, 1, at, vec![change(USER, action)])
    };
    assert_eq!(beat(0, 600_000), 0, "what was watched before the first beat of the day");
    assert_eq!(beat(1_900, 900_000), 0, "no more than time has passed");
    assert_eq!(beat(60_000, 600_100), 0, "no more than was watched");
    assert_eq!(beat(61_000, 602_000), 1);
    let late = Beat { watched: Some(900_000), ..beat_of_film(2, 70_000) };
    let late = change(USER, Action::beat(late, Arc::from("tv"), rewarding(0, 0).rules.all()));
    commit_on(&store, 1, 70_000, vec![beat_at(USER, film(2), 1, 70_000)]);
    assert_eq!(commit_on(&store, 1, 200_000, vec![late]), 0, "too old");
    backend.flush();
    assert_eq!(totals(&backend.views(), &[film(1), film(2)]), [Some(1), Some(0)]);
}

fn beat_of_film(oid: u64, after: u64) -> Beat {
    beat(film(oid), NOW + after + 1, 1)
}

pub fn forgetting_lowers_no_views<B: PlaybackBackend>() {
    let backend = B::empty();
    let store = backend.hot_store();
    assert_eq!(play(&store, USER, 1, 1, 1, 0), 1);
    let delete = change(USER, Action::Delete { contents: vec![film(1)], at: NOW + 4_000 });
    commit_on(&store, 1, 4_000, vec![delete]);
    assert_eq!(play(&store, USER, 1, 2, 1, 10_000), 0, "viewed that day, though deleted");
    commit_on(&store, 1, 14_000, vec![clear(NOW + 14_000)]);
    assert_eq!(play(&store, USER, 1, 3, 1, 20_000), 0, "viewed that day, though cleared");
    commit_on(&store, 1, 24_000, vec![erase_at(NOW + 24_000)]);
    backend.flush();
    assert_eq!(totals(&backend.views(), &[film(1)]), [Some(1)]);
    assert_eq!(play(&store, USER, 1, 4, 1, 30_000), 1, "nothing is known of the user");
    // The view is counted in the group that erases its user.
    commit_on(&store, 1, 40_000, vec![beat_at(USER, film(2), 5, 40_000)]);
    assert_eq!(commit_on(&store, 1, 43_000, vec![beat_at(USER, film(2), 5, 43_000), erase_at(NOW + 43_000)]), 1);
    backend.flush();
    assert_eq!(totals(&backend.views(), &[film(1), film(2)]), [Some(2), Some(1)]);
    let told = (days(&backend.views(), film(1)), days(&backend.views(), film(2)));
    assert_eq!(told, (vec![(day(1), 2)], vec![(day(1), 1)]));
}

pub fn a_view_is_no_reward<B: PlaybackBackend>() {
    let backend = B::empty();
    let store = backend.hot_store();
    let mut both = vec![beat_at(USER, film(1), 1, 0), beat_at(USER, content(1), 2, 0)];
    assert_eq!(commit_on(&store, 1, 0, both.clone()), 0, "the outbox has no room for the reward");
    both = vec![beat_at(USER, film(1), 1, 3_000), beat_at(USER, content(1), 2, 3_000)];
    let committed = commit_rewarded(&store, NOW + 3_000, rewarding(1, 1), both);
    let told: Vec<_> = committed.decided.iter().map(|each| (each.change, each.rule, each.first)).collect();
    assert_eq!(told, [(0, 1, true), (1, 0, true)], "the view takes none of the room");
    assert_eq!(backend.outbox_entries(), 1);
    let claims = wait(store.claims_of(USER, day(1), 100)).unwrap();
    assert_eq!(claims.iter().map(|claim| &*claim.rule).collect::<Vec<_>>(), ["at-once"]);
    assert_eq!(wait(store.claims_of(USER, day(1), 1)).unwrap(), claims);
    assert_eq!(wait(store.claims_in(Shards::DEFAULT.of(USER), day(1))).unwrap(), claims);
    assert_eq!(wait(store.user_status(USER, day(1))).unwrap().rewarded, ["at-once"]);
    backend.flush();
    assert_eq!(totals(&backend.views(), &[film(1)]), [Some(1)]);
}

pub fn a_group_that_races_for_a_view_counts_one<B: PlaybackBackend>() {
    let backend = B::empty();
    let store = backend.hot_store();
    commit_on(&store, 1, 0, vec![beat_at(USER, film(1), 1, 0), beat_at(OTHER, film(1), 1, 0)]);
    let of = |user| (0..20).map(move |beat| beat_at(user, film(1), 1, 5_000 + beat));
    assert_eq!(commit_on(&store, 1, 6_000, of(USER).chain(of(OTHER)).collect()), 2);
    backend.flush();
    assert_eq!(totals(&backend.views(), &[film(1)]), [Some(2)]);
    assert_eq!(days(&backend.views(), film(1)), [(day(1), 2)]);
}

pub fn deleted_views_by_playback_begin_anew<B: PlaybackBackend>() {
    let backend = B::empty();
    let store = backend.hot_store();
    assert_eq!(play(&store, USER, 1, 1, 1, 0), 1);
    backend.flush();
    assert_eq!(play(&store, OTHER, 1, 1, 1, 0), 1);
    wait(backend.views().delete(film(1))).unwrap();
    backend.flush();
    assert_eq!(totals(&backend.views(), &[film(1)]), [Some(0)]);
    assert_eq!(play(&store, USER, 1, 1, 1, 10_000), 0, "counted today");
    assert_eq!(play(&store, UserId(44), 1, 1, 1, 0), 1);
    backend.flush();
    assert_eq!(totals(&backend.views(), &[film(1)]), [Some(1)]);
    assert_eq!(days(&backend.views(), film(1)), [(day(1), 1)]);
}
