//! The cache equals the store after any sequence of changes.

use std::cell::Cell;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::user_cache::CachedUser;
use super::{Config, EmbeddedStore};
use model::beat::{Beat, State};
use model::change::{Action, Change};
use model::ids::{Content, SessionId, UserId};
use model::rewards::rule::RuleSet;
use storage::hot_store::Group;
use storage::hot_store::config::Backend;

fn open(dir: &Path, user_cache: usize) -> EmbeddedStore {
    let config = Config {
        hot_store: Backend::Embedded,
        data_dir: dir.to_owned(),
        group_interval: Duration::ZERO,
        steady_hold: Duration::ZERO,
        ready_share: 1.0,
        retention: Duration::from_secs(10),
        records_per_user: NonZeroU32::new(3).unwrap(),
        accept_clock_before_store: false,
        clock_step_max: Duration::from_secs(3_600),
        user_cache: NonZeroUsize::new(user_cache).unwrap(),
        cache_bytes: 1 << 20,
        prune_interval: Duration::from_millis(1),
    };
    EmbeddedStore::open(&config, Arc::new(|| u64::MAX)).unwrap()
}

fn any_content() -> impl Strategy<Value = Content> {
    (0u64..5).prop_map(|oid| Content { kind: 1, oid })
}

/// An action, and how many milliseconds its `at` is before the group's `now`.
fn action() -> impl Strategy<Value = (Action, u64)> {
    let beat = |(content, session)| {
        let session = SessionId(session);
        let beat = Beat { content, pos: 1, dur: 0, state: State::Playing, session, watched: Some(1), rate: 1.0, at: 0 };
        Action::beat(beat, Arc::from("tv"), RuleSet::NONE)
    };
    let action = prop_oneof![
        20 => (any_content(), 1u64..3).prop_map(beat),
        3 => prop::collection::vec(any_content(), 1..3).prop_map(|contents| Action::Delete { contents, at: 0 }),
        1 => Just(Action::Clear { at: 0 }),
        1 => any::<bool>().prop_map(|paused| Action::Recording { paused, at: 0 }),
        1 => Just(Action::Erase { at: 0 }),
        2 => Just(Action::Prune { horizon: 0 }),
    ];
    (action, 0u64..9_000)
}

fn change(user: u64, (mut action, before): (Action, u64), now: u64) -> Change {
    match &mut action {
        Action::Beat { beat, .. } => beat.at = now - before,
        Action::Delete { at, .. } | Action::Clear { at } | Action::Recording { at, .. } | Action::Erase { at } => {
            *at = now - before;
        }
        Action::Prune { horizon } => *horizon = now - before,
    }
    Change { user: UserId(user), action }
}

/// Compares all cached users with the store. Returns the numbers of cached rows and counts.
fn compare(store: &EmbeddedStore) -> Result<(usize, usize), TestCaseError> {
    let group_writer = store.shared.group_writer().unwrap();
    let view = store.shared.tables.view();
    let (mut rows, mut counts) = (0, 0);
    for (user, known) in group_writer.cache.users.iter() {
        prop_assert_eq!(&known.row, &view.user(*user).unwrap());
        if let Some((content, row)) = known.remembered() {
            prop_assert_eq!(Some(row), view.content(*user, content).unwrap());
            rows += 1;
        }
        if let Some(count) = known.contents {
            prop_assert_eq!(count, view.count_of(*user).unwrap());
            counts += 1;
        }
    }
    Ok((rows, counts))
}

#[test]
fn cached_users_equal_stored_users() {
    let group = prop::collection::vec((0u64..3, action()), 1..8);
    let steps = prop::collection::vec((0u64..3_000, group), 1..30);
    let config = ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() };
    let (rows_seen, counts_seen) = (Cell::new(0), Cell::new(0));
    proptest!(config, |(steps in steps, user_cache in 1usize..4)| {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path(), user_cache);
        let mut now = 10_000;
        for (later, group) in steps {
            now += later;
            let changes = group.into_iter().map(|(user, action)| change(user, action, now)).collect();
            store.commit_now(&Group::unrewarded(now, changes)).unwrap();
            let (rows, counts) = compare(&store)?;
            rows_seen.set(rows_seen.get() + rows);
            counts_seen.set(counts_seen.get() + counts);
        }
        // A prune may be half done.
        std::thread::sleep(Duration::from_millis(3));
        compare(&store)?;
    });
    let seen = (rows_seen.get(), counts_seen.get());
    assert!(seen.0 > 100 && seen.1 > 100, "{seen:?}: hardly anything was cached");
}

#[test]
fn a_cached_user_takes_at_most_the_documented_memory() {
    // The rest: a list entry's key and two links, the index, the overhead of the allocator, and the device's name.
    assert!(size_of::<CachedUser>() <= 192, "{} bytes", size_of::<CachedUser>());
}
