//! Dead rows are removed, and live rows stay.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Config, EmbeddedStore};
use model::beat::{Beat, State};
use model::change::{Action, Change, Outcome};
use model::forgetting::UserRow;
use model::ids::{Content, SessionId, UserId};
use model::rewards::rule::RuleSet;
use model::rule::Verdict;
use storage::hot_store::config::Backend;
use storage::hot_store::{Due, Group};

const USER: UserId = UserId(42);

fn open(dir: &Path, prune_interval: Duration, records_per_user: u32) -> EmbeddedStore {
    let config = Config {
        hot_store: Backend::Embedded,
        data_dir: dir.to_owned(),
        group_interval: Duration::ZERO,
        steady_hold: Duration::ZERO,
        ready_share: 1.0,
        retention: Duration::from_secs(10),
        records_per_user: NonZeroU32::new(records_per_user).unwrap(),
        accept_clock_before_store: false,
        clock_step_max: Duration::from_secs(3_600),
        user_cache: NonZeroUsize::new(100).unwrap(),
        cache_bytes: 1 << 20,
        prune_interval,
    };
    EmbeddedStore::open(&config, Arc::new(|| u64::MAX)).unwrap()
}

const NEVER: Duration = Duration::from_secs(3_600);
const OFTEN: Duration = Duration::from_millis(20);

fn beat(oid: u64, at: u64) -> Change {
    let beat = Beat {
        content: Content { kind: 1, oid },
        pos: at,
        dur: 0,
        state: State::Playing,
        session: SessionId(1),
        watched: Some(1),
        rate: 1.0,
        at,
    };
    Change { user: USER, action: Action::beat(beat, Arc::from(""), RuleSet::NONE) }
}

fn clear(at: u64) -> Change {
    Change { user: USER, action: Action::Clear { at } }
}

fn commit(store: &EmbeddedStore, now: u64, changes: Vec<Change>) -> Vec<Outcome> {
    store.commit_now(&Group::unrewarded(now, changes)).unwrap().outcomes
}

fn stored(store: &EmbeddedStore) -> u32 {
    store.shared.tables.view().count_of(USER).unwrap()
}

/// Prunes the users found, as the janitor does, until the condition holds.
fn soon(store: &EmbeddedStore, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        let Due { users, horizon } = store.pruner.due();
        let now = store.shared.now.load(Ordering::Relaxed);
        for user in users {
            let prune = || vec![Change { user, action: Action::Prune { horizon } }];
            while commit(store, now, prune()) == [Outcome::Pruned { more: true }] {}
        }
        assert!(started.elapsed() < Duration::from_secs(60), "the condition does not come true");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn cleared_rows_are_removed_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), NEVER, 1_000);
    commit(&store, 5_000, (0..600).map(|oid| beat(oid, 1_000 + oid)).collect());
    assert_eq!(stored(&store), 600);
    commit(&store, 5_000, vec![clear(1_499)]);
    soon(&store, || stored(&store) == 100);
}

#[test]
fn removed_rows_make_room_below_the_cap() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), NEVER, 300);
    commit(&store, 5_000, (0..300).map(|oid| beat(oid, 1_000 + oid)).collect());
    // The user reaches the cap once, so that its oldest contents are cached.
    commit(&store, 5_000, vec![beat(300, 2_000), clear(2_999)]);
    soon(&store, || stored(&store) == 0);
    commit(&store, 5_000, (0..300).map(|oid| beat(oid, 3_000 + oid)).collect());
    assert_eq!(stored(&store), 300);
    assert_eq!(store.shared.tables.view().user(USER).unwrap().floor, 1_000, "none of these was evicted");
    commit(&store, 5_000, vec![beat(1_000, 4_000)]);
    assert_eq!(stored(&store), 300);
    assert_eq!(store.shared.tables.view().user(USER).unwrap().floor, 3_000);
}

#[test]
fn expired_rows_are_removed_by_the_next_pass() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), OFTEN, 10_000);
    let delete = Action::Delete { contents: vec![Content { kind: 1, oid: 1 }], at: 4_000 };
    let pause = |paused, at| Change { user: USER, action: Action::Recording { paused, at } };
    commit(&store, 5_000, (0..3_000).map(|oid| beat(oid, 2_000 + oid)).collect());
    commit(&store, 5_000, vec![Change { user: USER, action: delete }, clear(1), pause(true, 2), pause(false, 3)]);
    std::thread::sleep(10 * OFTEN);
    assert_eq!(stored(&store), 3_000, "everything is still within the retention");

    commit(&store, 14_000, vec![]);
    soon(&store, || stored(&store) == 3_000 - 2_000 + 1);
    commit(&store, 14_001, vec![]);
    soon(&store, || stored(&store) == 3_000 - 2_001);
    soon(&store, || store.shared.tables.view().user(USER).unwrap() == UserRow::default());
    commit(&store, 50_000, vec![beat(7, 49_000)]);
    soon(&store, || stored(&store) == 1);
    let again = commit(&store, 50_000, vec![beat(7, 49_000), beat(1, 3_999)]);
    assert_eq!(again[0], Outcome::from(Verdict::Same));
}

#[test]
fn rows_written_while_pruning_are_not_lost() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), OFTEN, 10_000);
    for round in 1..10 {
        commit(&store, 5_000, (0..600).map(|oid| beat(oid, round * 100)).collect());
        commit(&store, 5_000, vec![clear(round * 100)]);
        for oid in (0..600).step_by(29) {
            commit(&store, 5_000, vec![beat(oid, round * 100 + 1)]);
        }
        let view = store.shared.tables.view();
        for oid in (0..600).step_by(29) {
            let row = view.content(USER, Content { kind: 1, oid }).unwrap().unwrap();
            assert_eq!(row.record.unwrap().at, round * 100 + 1);
        }
    }
    soon(&store, || stored(&store) == 600_u32.div_ceil(29));
}

#[test]
fn an_erased_user_keeps_only_the_erasure_until_it_expires() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), NEVER, 100);
    let paused = Change { user: USER, action: Action::Recording { paused: true, at: 500 } };
    commit(&store, 1_000, vec![beat(1, 900), beat(2, 1_000), clear(400), paused]);
    let erase = Change { user: USER, action: Action::Erase { at: 2_000 } };
    assert_eq!(commit(&store, 2_000, vec![erase]), [Outcome::Erased { at: 2_000, resumed: true, moved: true }]);
    assert_eq!(stored(&store), 0);
    let row = store.shared.tables.view().user(USER).unwrap();
    assert_eq!(row, UserRow { watermark: 2_000, erased: 2_000, ..UserRow::default() });
}
