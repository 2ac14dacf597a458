//! The embedded store as a backend, and what it alone promises.

use std::collections::HashSet;
use std::fs;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use heartline::model::counters::{CounterId, CounterKey, Definitions, Difference};
use heartline::model::ids::Content;
use heartline::model::page::PageRequest;
use heartline::model::rows_read::RowsRead;
use heartline::storage::counters::DerivedCounters;
use heartline::storage::hot_store::HotStore;
use heartline::storage::hot_store::config::{Backend as StoreKind, Config};
use heartline::storage::notices::Notices;
use heartline::storage::outbox::Outbox;
use heartline::storage::views::Views;
use heartline::storage_embedded::hot_store::{EmbeddedCounters, EmbeddedStore, OpenError};
use tempfile::TempDir;

use crate::backends::PATIENCE;
use crate::backends::counters::{CountersBackend, definitions, recount};
use crate::backends::hot_store_views::PlaybackBackend;
use crate::backends::notices::NoticesBackend;
use crate::backends::requests::*;
use crate::backends::views::ViewsBackend;
use crate::support::depth::depth;

pub struct Embedded {
    dir: TempDir,
    store: Option<Arc<EmbeddedStore>>,
}

/// In the directory of a store that has written little.
pub const JOURNAL: &str = "store/tables/0.jnl";

impl Embedded {
    pub fn embedded(&self) -> Arc<EmbeddedStore> {
        self.store.clone().unwrap()
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A copy of it as after an end in the middle of a write: its journal has so many bytes.
    pub fn torn_at(&self, bytes: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy(self.path(), dir.path());
        fs::OpenOptions::new().write(true).open(dir.path().join(JOURNAL)).unwrap().set_len(bytes).unwrap();
        let store = Some(open(dir.path(), ROOMY));
        Embedded { dir, store }
    }
}

fn config(dir: &Path, limits: Limits) -> Config {
    Config {
        hot_store: StoreKind::Embedded,
        data_dir: dir.to_owned(),
        group_interval: Duration::from_millis(2),
        steady_hold: Duration::ZERO,
        ready_share: 1.0,
        retention: Duration::from_millis(limits.retention_ms),
        records_per_user: NonZeroU32::new(limits.records_per_user).unwrap(),
        accept_clock_before_store: false,
        clock_step_max: Duration::from_secs(3_600),
        // So few that users are forgotten and looked up again all the time.
        user_cache: NonZeroUsize::new(2).unwrap(),
        cache_bytes: 1 << 20,
        prune_interval: Duration::from_secs(3_600),
    }
}

fn wall_clock(now: u64) -> Arc<dyn Fn() -> u64 + Send + Sync> {
    Arc::new(move || now)
}

/// A process that another test starts has the lock, too, until it has become its own program.
fn open(dir: &Path, limits: Limits) -> Arc<EmbeddedStore> {
    let began = Instant::now();
    loop {
        match EmbeddedStore::open(&config(dir, limits), wall_clock(NOW)) {
            Err(OpenError::InUse { .. }) if began.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(1)),
            opened => return Arc::new(opened.unwrap()),
        }
    }
}

impl NoticesBackend for Embedded {
    fn notices(&self) -> Arc<dyn Notices> {
        self.store.clone().unwrap()
    }
}

impl Backend for Embedded {
    const OUTBOX_KEEPS_ORDER: bool = true;

    fn fresh(limits: Limits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Some(open(dir.path(), limits));
        Embedded { dir, store }
    }

    fn store(&self) -> Arc<dyn HotStore> {
        self.store.clone().unwrap()
    }

    fn outbox(&self) -> Arc<dyn Outbox> {
        self.store.clone().unwrap()
    }

    fn reopen(&mut self, limits: Limits) {
        let closed = self.store.take().and_then(Arc::into_inner);
        drop(closed.expect("somebody still uses the store"));
        self.store = Some(open(self.dir.path(), limits));
    }
}

impl ViewsBackend for Embedded {
    fn empty() -> Self {
        Self::fresh(ROOMY)
    }

    fn views(&self) -> Arc<dyn Views> {
        self.store.clone().unwrap()
    }

    fn reopened(mut self) -> Self {
        self.reopen(ROOMY);
        self
    }

    fn flush(&self) {}
}

impl CountersBackend for Embedded {
    const CASES: u32 = 32;

    fn counters(&self, definitions: Definitions) -> Arc<dyn DerivedCounters> {
        Arc::new(EmbeddedCounters::of(self.store.clone().unwrap(), definitions))
    }

    fn flush(&self) {}
}

impl PlaybackBackend for Embedded {
    fn hot_store(&self) -> Arc<dyn HotStore> {
        self.store()
    }

    fn outbox_entries(&self) -> u64 {
        self.outbox().len()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_second_opener_is_told_the_pid_of_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let _first = open(dir.path(), ROOMY);
    let error = EmbeddedStore::open(&config(dir.path(), ROOMY), wall_clock(NOW)).err().unwrap();
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
}

#[test]
fn it_knows_its_newest_commit_and_refuses_a_clock_long_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), ROOMY);
    assert_eq!(store.clock_floor(), 0);
    let store: Arc<dyn HotStore> = store;
    commit_at(&store, NOW + 7, vec![beat_of(USER, content(1), NOW)]);
    commit_at(&store, NOW + 8, vec![beat_of(USER, content(1), NOW)]);
    drop(store);
    assert_eq!(open(dir.path(), ROOMY).clock_floor(), NOW + 7, "the second changed nothing");

    let day = 86_400_000;
    let mut config = config(dir.path(), ROOMY);
    EmbeddedStore::open(&config, wall_clock(NOW + 7 - day)).unwrap();
    let error = EmbeddedStore::open(&config, wall_clock(NOW + 7 - day - 1_000)).err().unwrap();
    assert!(matches!(error, OpenError::Clock { .. }), "{error}");
    assert!(error.to_string().contains("1day 1s") && !error.to_string().contains('\n'), "{error}");
    config.accept_clock_before_store = true;
    assert_eq!(EmbeddedStore::open(&config, wall_clock(0)).unwrap().clock_floor(), 0, "that clock is not believed");
}

#[test]
fn pruning_does_not_go_by_a_clock_that_is_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let year = 365 * 86_400_000;
    let store: Arc<dyn HotStore> = open(dir.path(), ROOMY);
    commit_at(&store, NOW + year, vec![beat_of(USER, content(1), NOW + year)]);
    drop(store);
    let mut config = config(dir.path(), ROOMY);
    (config.accept_clock_before_store, config.prune_interval) = (true, Duration::from_millis(1));
    let store: Arc<dyn HotStore> = Arc::new(EmbeddedStore::open(&config, wall_clock(NOW)).unwrap());
    for round in 0..20 {
        commit_at(&store, NOW + round, vec![beat_of(USER, content(2), NOW + round)]);
        std::thread::sleep(Duration::from_millis(5));
        assert!(get(&store, USER, vec![content(2)]).remove(0).is_some(), "gone in round {round}");
    }
}

#[test]
fn a_directory_of_an_unknown_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path(), ROOMY));
    fs::write(dir.path().join("store/format"), "77\n").unwrap();
    let error = EmbeddedStore::open(&config(dir.path(), ROOMY), wall_clock(NOW)).err().unwrap();
    assert!(matches!(error, OpenError::Format { ref found, .. } if found == "77"), "{error}");
}

#[test]
fn a_journal_torn_anywhere_ends_with_a_whole_group() {
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn HotStore> = open(dir.path(), ROOMY);
    let mut ends = Vec::new();
    let journal = |dir: &Path| dir.join(JOURNAL);
    for group in 1..=20u64 {
        // Three rows and a clear of another user, so that half a group would show.
        let mut changes: Vec<_> = (0..3).map(|oid| beat_of(USER, content(oid), group * 1_000)).collect();
        changes.push(clear(group));
        commit(&store, changes);
        let written = fs::read(journal(dir.path())).unwrap();
        ends.push(written.iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1);
    }
    let mut cuts: Vec<u64> = (ends[0]..ends[19]).step_by(depth(183, 61)).chain(ends.iter().copied()).collect();
    cuts.sort_unstable();
    for (number, cut) in cuts.into_iter().enumerate() {
        let torn = tempfile::tempdir().unwrap();
        copy(dir.path(), torn.path());
        let file = fs::OpenOptions::new().write(true).open(journal(torn.path())).unwrap();
        // The rest is missing, or as it was laid out before it was written.
        file.set_len(cut).unwrap();
        if number % 2 == 0 {
            file.set_len(1 << 20).unwrap();
        }
        let groups = ends.iter().filter(|end| **end <= cut).count() as u64;
        let reopened: Arc<dyn HotStore> = open(torn.path(), ROOMY);
        assert_eq!(ats(&reopened, &[0, 1, 2]), [Some(groups * 1_000); 3], "cut at {cut}");
        commit(&reopened, vec![beat_of(USER, content(0), 90_000)]);
        drop(reopened);
        let reopened: Arc<dyn HotStore> = open(torn.path(), ROOMY);
        assert_eq!(ats(&reopened, &[0, 1]), [Some(90_000), Some(groups * 1_000)], "written after cut at {cut}");
    }
}

#[test]
fn a_list_looks_at_the_kinds_asked_for_only() {
    let backend = Embedded::fresh(ROOMY);
    let store = backend.store();
    let of_kind = |kind, count| (0..count).map(move |oid| beat_of(USER, Content { kind, oid }, 1_000 + oid));
    commit(&store, of_kind(1, 400).chain(of_kind(2, 30)).collect());
    let rows = RowsRead::default();
    let request = PageRequest { limit: 10, kinds: vec![2, 9], ..everything() };
    assert_eq!(wait(store.list(USER, request, NOW, rows.clone())).unwrap().records.len(), 10);
    assert_eq!(rows.get(), 30 + 1);
}

#[test]
fn a_list_is_of_one_moment_while_beats_arrive() {
    let backend = Embedded::fresh(ROOMY);
    let store = backend.store();
    // Several slices lie between the first row and the last.
    let last = 1_000;
    commit(&store, (0..=last).map(|oid| beat_of(USER, content(oid), 1_000)).collect());
    let (writer, listed) = (store.clone(), Arc::new(AtomicUsize::new(0)));
    let (until, enough) = (Instant::now() + PATIENCE, listed.clone());
    let writer = thread::spawn(move || {
        // Lists may be slow and commits fast.
        let goes_on = |at: &u64| *at < 2_300 || enough.load(Ordering::Relaxed) <= 3 && Instant::now() < until;
        for at in (2_000..).take_while(goes_on) {
            // Both in one step.
            commit(&writer, vec![beat_of(USER, content(0), at), beat_of(USER, content(last), at)]);
        }
    });
    let mut moments = HashSet::new();
    while !writer.is_finished() {
        let page = list(&store, USER, everything());
        assert_eq!(page.records.len() as u64, last + 1);
        let at = |oid| page.records.iter().find(|record| record.content.oid == oid).map(|record| record.at);
        assert_eq!(at(0), at(last));
        moments.insert(at(0));
        listed.store(moments.len(), Ordering::Relaxed);
    }
    writer.join().unwrap();
    assert!(moments.len() > 3, "listed {moments:?}");
}

#[test]
fn a_recount_finds_a_number_that_is_wrong_and_repairs_it() {
    let mut backend = Embedded::fresh(ROOMY);
    let definitions = definitions(r#"[{"id":"all"},{"id":"viewers","key":["oid"]}]"#, 0.9);
    let counters = backend.counters(definitions.clone());
    commit(&backend.store(), (1..4).map(|oid| beat_of(USER, content(oid), 1_000)).collect());
    let [all, viewers]: [CounterId; 2] = ["all", "viewers"].map(|id| id.parse().unwrap());
    let key = |oid: &str| CounterKey::of([oid]).unwrap();
    assert_eq!(recount(&*counters, &viewers, Vec::new()).differences, []);
    drop(counters);
    let closed = backend.store.take().and_then(Arc::into_inner);
    drop(closed.expect("the only user"));
    {
        let path = backend.dir.path().join(EmbeddedStore::FOLDER);
        let path = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir());
        let database = fjall::Database::builder(path.unwrap()).open().unwrap();
        let numbers = database.keyspace("counters", fjall::KeyspaceCreateOptions::default).unwrap();
        let stored: Vec<_> = numbers.iter().map(|entry| entry.into_inner().unwrap()).collect();
        let (of_two, _) = stored.iter().find(|(key, _)| key.ends_with(b"viewers\x002")).unwrap();
        numbers.insert(of_two.clone(), 7i64.to_be_bytes()).unwrap();
        let mut of_nine = of_two.to_vec();
        *of_nine.last_mut().unwrap() = b'9';
        numbers.insert(of_nine, 1i64.to_be_bytes()).unwrap();
        database.persist(fjall::PersistMode::SyncAll).unwrap();
    }
    backend.store = Some(open(backend.dir.path(), ROOMY));
    let counters = backend.counters(definitions);
    let values = || wait(counters.values(viewers.clone(), ["1", "2", "9"].map(key).to_vec())).unwrap();
    assert_eq!(values(), [1, 7, 1]);
    let found = recount(&*counters, &viewers, vec![key("2")]);
    let difference = |oid, was, is| Difference { key: key(oid), was, is };
    assert_eq!((found.done, found.differences), (3, vec![difference("2", 7, 1)]));
    assert_eq!(values(), [1, 1, 0], "all are repaired");
    assert_eq!(recount(&*counters, &all, Vec::new()).differences, []);
}
