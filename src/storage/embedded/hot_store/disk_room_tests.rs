//! A store that is opened on a full disk writes nothing until there is room.

use std::fmt::Display;
use std::io;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Config, EmbeddedStore};
use crate::disk_room::DiskRoom;
use model::change::{Action, Change};
use model::ids::{Content, UserId};
use model::shard::Shard;
use storage::hot_store::config::Backend;
use storage::hot_store::{Group, Positions};
use storage::outbox::Outbox;
use storage::views::Views;

const USER: UserId = UserId(42);
const PATIENCE: Duration = Duration::from_secs(60);

/// Full as long as the flag is set.
fn open(dir: &Path, full: &Arc<AtomicBool>) -> EmbeddedStore {
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
        user_cache: NonZeroUsize::new(100).unwrap(),
        cache_bytes: 1 << 20,
        prune_interval: Duration::from_secs(3_600),
    };
    let full = full.clone();
    let probe = move |_: &Path| match full.load(Ordering::Relaxed) {
        true => Err(io::ErrorKind::StorageFull.into()),
        false => Ok(()),
    };
    let room = |_: &Path| DiskRoom::with(Path::new("/data"), Box::new(probe));
    EmbeddedStore::open_with(&config, Arc::new(|| 0), room).unwrap()
}

fn group() -> Group {
    Group::unrewarded(1_000, vec![Change { user: USER, action: Action::Clear { at: 1_000 } }])
}

fn is_away<T>(answer: Result<T, impl Display>) -> bool {
    answer.is_err_and(|error| error.to_string() == "hot store unavailable: the disk of /data is full")
}

#[tokio::test]
async fn nothing_is_written_and_everything_is_read_until_the_disk_has_room() {
    let (dir, full) = (tempfile::tempdir().unwrap(), Arc::new(AtomicBool::new(true)));
    let store = open(dir.path(), &full);
    let content = Content { kind: 1, oid: 100 };
    assert!(!store.is_connected(Shard(0)));
    assert!(is_away(store.commit(&group()).await));
    assert!(is_away(Views::delete(&store, content).await));
    assert!(is_away(Outbox::remove(&store, vec![1]).await));
    assert_eq!(store.get(USER, vec![content], 1_000).await.unwrap().records, [None]);
    assert!(store.failure().is_none(), "it has not failed");

    full.store(false, Ordering::Relaxed);
    let began = Instant::now();
    while !store.is_connected(Shard(0)) {
        assert!(began.elapsed() < PATIENCE, "the room is not noticed");
        thread::sleep(Duration::from_millis(20));
    }
    store.commit(&group()).await.unwrap();
    Views::delete(&store, content).await.unwrap();
    Outbox::remove(&store, vec![1]).await.unwrap();
}
