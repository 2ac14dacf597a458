//! When users are looked at for expired and cleared records, and what becomes of them: nothing in Redis expires by
//! itself.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heartline::model::change::Outcome;
use heartline::model::ids::UserId;
use heartline::model::transition::{Cause, Transition};
use heartline::storage::hot_store::{Due, Group, HotStore};
use redis::Connection;

use crate::backends::PATIENCE;
use crate::backends::redis::{Cluster, OneServer, Servers, connection, key, open_remembering, tell};
use crate::backends::requests::*;

/// Not of whole days, so it ends to the millisecond.
const RETENTION_MS: u64 = 23 * 3_600_000;
const SHORT: Limits = Limits { retention_ms: RETENTION_MS, records_per_user: 10_000 };

/// Of all shards.
fn due(store: &Arc<dyn HotStore>, now: u64) -> HashSet<UserId> {
    let mut users = HashSet::new();
    for _ in 0..20 {
        users.extend(wait(store.due(now)).unwrap().users);
    }
    users
}

/// As the janitor does it.
fn prune_all(store: &Arc<dyn HotStore>, now: u64) -> Vec<Transition> {
    let mut told = Vec::new();
    for _ in 0..20 {
        let Due { users, horizon } = wait(store.due(now)).unwrap();
        for user in users {
            loop {
                let committed = commit_group(store, now, vec![prune(user, horizon)]);
                told.extend(committed.transitions.into_iter().map(|(_, told)| told));
                if committed.outcomes == [Outcome::Pruned { more: false }] {
                    break;
                }
            }
        }
    }
    told
}

fn exists(connection: &mut Connection, letter: &str) -> bool {
    tell(connection, &["EXISTS", &key(USER, letter)])
}

/// The moment that the user is entered with, milliseconds.
fn look(connection: &mut Connection) -> Option<u64> {
    let shard = key(USER, "h").split_once(':').unwrap().0.to_owned();
    tell(connection, &["ZSCORE", &format!("{shard}:x"), &USER.0.to_string()])
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn nothing_expires_by_itself() {
    let backend = OneServer::fresh(SHORT);
    let store = backend.store();
    let mut connection = backend.connection();
    let steps = [
        vec![beat_of(USER, content(1), NOW)],
        vec![beat_of(USER, content(2), NOW + 1), beat_of(USER, content(3), NOW + 2)],
        vec![delete(&[3], NOW + 3)],
        vec![recording(true, NOW + 4)],
        vec![recording(false, NOW + 5), beat_of(USER, content(4), NOW + 6)],
        vec![clear(NOW + 1)],
        vec![prune(USER, NOW - RETENTION_MS)],
        vec![erase(), beat_of(USER, content(5), NOW + 10), beat_of(USER, content(6), NOW + 11)],
    ];
    for (number, step) in steps.into_iter().enumerate() {
        commit(&store, step);
        for letter in ["h", "r", "t"] {
            let ttl: i64 = tell(&mut connection, &["PTTL", &key(USER, letter)]);
            assert!(ttl == -1 || ttl == -2 && letter != "h", "{letter} goes in {ttl} ms after step {number}");
        }
        let look = look(&mut connection).expect("somebody will look at the user");
        assert!(look <= NOW + 11 + RETENTION_MS + 1, "after step {number} at {look}");
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_user_is_looked_at_when_something_is_expired_or_cleared_and_not_before() {
    let backend = OneServer::fresh(SHORT);
    let store = backend.store();
    commit(&store, vec![beat_of(USER, content(1), NOW), beat_of(UserId(7), content(1), NOW + 5_000)]);
    assert_eq!(due(&store, NOW + RETENTION_MS), HashSet::new());
    assert_eq!(due(&store, NOW + RETENTION_MS + 1), [USER].into());
    // Not for each beat: whoever looks is told by the rows when to look again.
    let later = NOW + RETENTION_MS;
    commit_at(&store, later, vec![beat_of(USER, content(1), later)]);
    assert_eq!(due(&store, later + 1), [USER].into());
    assert_eq!(prune_all(&store, later + 1), []);
    assert_eq!(due(&store, later + RETENTION_MS), [UserId(7)].into());
    assert_eq!(due(&store, later + RETENTION_MS + 1), [USER, UserId(7)].into());
    commit_at(&store, later, vec![clear(later - 1)]);
    assert_eq!(due(&store, later), [USER].into(), "at once");
    assert_eq!(prune_all(&store, later), []);
    assert_eq!(due(&store, later), HashSet::new());
    // What comes late has expired sooner.
    prune_all(&store, later);
    let (late, half) = (UserId(9), RETENTION_MS / 2);
    commit_at(&store, later, vec![beat_of(late, content(1), later), beat_of(late, content(2), later - half)]);
    commit_at(&store, later, vec![beat_of(late, content(3), later)]);
    assert_eq!(due(&store, later + half), [UserId(7)].into());
    assert_eq!(due(&store, later + half + 1), [UserId(7), late].into());
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_head_goes_a_retention_after_the_last_that_it_knows_and_the_last_write() {
    let backend = OneServer::fresh(SHORT);
    let store = backend.store();
    let mut connection = backend.connection();
    commit(&store, (0..600).map(|oid| beat_of(USER, content(oid), NOW - oid)).collect());
    commit(&store, vec![clear(NOW - 500), delete(&[700], NOW)]);
    let pruned = NOW + RETENTION_MS + 1;
    assert_eq!(prune_all(&store, NOW).len(), 100);
    let told = prune_all(&store, pruned);
    assert!(told.len() == 500 && told.iter().all(|told| told.cause == Cause::Expiry), "{}", told.len());
    assert!(exists(&mut connection, "h") && !exists(&mut connection, "r") && !exists(&mut connection, "t"));
    assert_eq!(look(&mut connection), Some(pruned + RETENTION_MS + 1), "to prune is to write");
    assert_eq!(prune_all(&store, pruned + RETENTION_MS), []);
    assert!(exists(&mut connection, "h"));
    assert_eq!(prune_all(&store, pruned + RETENTION_MS + 1), []);
    assert!(!exists(&mut connection, "h"));
    let mut left: Vec<String> = tell(&mut connection, &["KEYS", "*"]);
    left.retain(|key| [":deployment", ":calendar", ":probe"].iter().all(|of_all| !key.ends_with(of_all)));
    assert!(left.is_empty(), "{left:?}");
    let again = pruned + RETENTION_MS + 2;
    commit_at(&store, again, vec![beat_of(USER, content(1), again)]);
    assert_eq!(look(&mut connection), Some(again + RETENTION_MS + 1));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_pause_that_has_not_ended_keeps_the_head() {
    let backend = OneServer::fresh(SHORT);
    let store = backend.store();
    let mut connection = backend.connection();
    commit(&store, vec![beat_of(USER, content(1), NOW), recording(true, NOW)]);
    let mut now = NOW;
    for round in 0..5 {
        now += 2 * RETENTION_MS;
        assert_eq!(prune_all(&store, now).len(), usize::from(round == 0));
        assert!(wait(store.paused(USER)).unwrap() && !exists(&mut connection, "r"), "round {round}");
        assert!(look(&mut connection).unwrap() > now, "round {round}");
    }
    commit_at(&store, now, vec![recording(false, now)]);
    for _ in 0..2 {
        now += 2 * RETENTION_MS;
        prune_all(&store, now);
    }
    assert!(!exists(&mut connection, "h"));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn users_of_all_nodes_of_a_cluster_are_found() {
    let backend = Cluster::fresh(SHORT);
    let store = backend.store();
    let users: Vec<UserId> = (0..300).map(UserId).collect();
    commit(&store, users.iter().map(|user| beat_of(*user, content(1), NOW)).collect());
    assert_eq!(due(&store, NOW + RETENTION_MS), HashSet::new());
    let now = NOW + RETENTION_MS + 1;
    assert_eq!(due(&store, now), users.iter().copied().collect());
    assert_eq!(prune_all(&store, now).len(), 300);
    assert_eq!(due(&store, now), HashSet::new());
    assert_eq!(prune_all(&store, now + RETENTION_MS + 1), []);
    assert_eq!(due(&store, u64::MAX), HashSet::new(), "all are gone");
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn gateways_that_prune_at_the_same_time_do_no_harm_and_tell_once() {
    let backend = OneServer::fresh(SHORT);
    let open = || -> Arc<dyn HotStore> {
        Arc::new(open_remembering(100, &backend.servers().url(), SHORT, Duration::ZERO, |_| false))
    };
    let stores = [open(), open(), open()];
    let users: Vec<UserId> = (0..20).map(UserId).collect();
    let rows = 400;
    for user in &users {
        commit(&stores[0], (0..rows).map(|oid| beat_of(*user, content(oid), NOW)).collect());
    }
    let now = NOW + RETENTION_MS + 1;
    let janitors = stores.clone().map(|store| std::thread::spawn(move || prune_all(&store, now)));
    let writers = std::thread::spawn({
        let (store, users) = (open(), users.clone());
        move || {
            for (oid, user) in (0..100).flat_map(|oid| users.iter().map(move |user| (oid, *user))) {
                commit_at(&store, now, vec![beat_of(user, content(rows + oid), now)]);
            }
        }
    });
    writers.join().unwrap();
    let told: Vec<Transition> = janitors.into_iter().flat_map(|janitor| janitor.join().unwrap()).collect();
    // What leaves the head for another content is told with that.
    let mut once = HashSet::new();
    assert!(told.iter().all(|told| told.cause == Cause::Expiry && once.insert((told.user, told.content))));
    assert!((399 * 20..=400 * 20).contains(&once.len()), "{}", once.len());
    for user in users {
        let page = wait(stores[0].list(user, everything(), now, Default::default())).unwrap();
        assert_eq!(page.records.len(), 100);
        let timeline: u64 = tell(&mut connection(&backend.servers().all()[0]), &["ZCARD", &key(user, "t")]);
        assert_eq!(timeline, 100);
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn what_a_gateway_leaves_half_done_another_one_finishes() {
    let backend = OneServer::fresh(SHORT);
    let open = || -> Arc<dyn HotStore> {
        Arc::new(open_remembering(100, &backend.servers().url(), SHORT, Duration::ZERO, |_| false))
    };
    let (one, other) = (open(), open());
    for part in 0..4 {
        commit(&one, (0..500).map(|oid| beat_of(USER, content(500 * part + oid), 1_000 + oid)).collect());
    }
    commit(&one, vec![clear(NOW)]);
    let first = commit_group(&one, NOW, vec![prune(USER, 0)]);
    assert_eq!(first.outcomes, [Outcome::Pruned { more: true }]);
    // Whoever waits for it gives up before it is known.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let group = Group::unrewarded(NOW, vec![prune(USER, 0)]);
    let soon = Duration::from_micros(300);
    let given_up = runtime.block_on(async { tokio::time::timeout(soon, one.commit(&group)).await });
    let lost = given_up.is_err();
    drop(one);
    let told = first.transitions.len() + prune_all(&other, NOW).len();
    let began = Instant::now();
    let mut connection = backend.connection();
    while exists(&mut connection, "r") || exists(&mut connection, "t") {
        assert!(began.elapsed() < PATIENCE);
        prune_all(&other, NOW);
    }
    assert!(told <= 2_000 && (lost || told >= 2_000 - 256), "{told}");
    assert_eq!(due(&other, NOW), HashSet::new());
}
