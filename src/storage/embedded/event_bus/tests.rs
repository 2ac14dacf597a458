//! The guarantees of the log, on a real disk.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::*;
use crate::database::Journal;
use model::cloud_event::Source;
use model::content_name::ContentTexts;
use model::fixtures::claim;
use model::rewards::claim::Claim;
use storage::delivery::Delivery;
use storage::event_bus::config::Backend;
use storage::fixtures as events;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const PASS: Duration = Duration::from_millis(20);

/// A log, its directory, and its clocks.
struct Fixture {
    dir: tempfile::TempDir,
    log: Option<EmbeddedLog>,
    clock: Arc<AtomicU64>,
    wall_clock: Arc<AtomicU64>,
    /// How far the next reading of the wall clock is ahead; later readings are not.
    step: Arc<AtomicU64>,
    clock_step_max: Duration,
    config: Config,
}

impl Fixture {
    fn new() -> Self {
        Self::with_bytes(1 << 30)
    }

    fn with_bytes(retention_bytes: u64) -> Self {
        let retention = Duration::from_millis(7 * DAY_MS);
        let config = Config { event_bus: Backend::Embedded, deployment: "local".into(), retention, retention_bytes };
        let dir = tempfile::tempdir().unwrap();
        let [clock, wall_clock] = [(); 2].map(|()| Arc::new(AtomicU64::new(100 * DAY_MS)));
        let step = Arc::default();
        // Days pass in a moment.
        let clock_step_max = Duration::MAX;
        let mut fixture = Fixture { dir, log: None, clock, wall_clock, step, clock_step_max, config };
        fixture.log = Some(fixture.open(fixture.dir.path()).unwrap());
        fixture
    }

    fn open(&self, data_dir: &Path) -> Result<EmbeddedLog, OpenError> {
        let (clock, wall_clock, step) = (self.clock.clone(), self.wall_clock.clone(), self.step.clone());
        let clock = Arc::new(move || clock.load(Ordering::Relaxed));
        let wall_clock = Arc::new(move || wall_clock.load(Ordering::Relaxed) + step.swap(0, Ordering::Relaxed));
        let check = ClockCheck { wall_clock, interval: PASS, step_max: self.clock_step_max };
        EmbeddedLog::open(data_dir, EventTopic::Rewards, &self.config, clock, check)
    }

    fn reopen(&mut self) {
        self.log = None;
        self.log = Some(self.open(self.dir.path()).unwrap());
    }

    fn log(&self) -> &EmbeddedLog {
        self.log.as_ref().unwrap()
    }

    fn pass_days(&self, days: u64) {
        self.clock.fetch_add(days * DAY_MS, Ordering::Relaxed);
        self.wall_clock.fetch_add(days * DAY_MS, Ordering::Relaxed);
    }

    /// Returns a copy of the files, as a kill would leave them. Nothing may be written meanwhile.
    fn killed(&self) -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        copy_all(self.dir.path(), copy.path());
        copy
    }
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        if path.is_dir() {
            copy_all(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

fn publish(log: &EmbeddedLog, mids: impl IntoIterator<Item = u64>) -> Result<(), BusError> {
    publish_claims(log, mids.into_iter().map(claim).collect())
}

/// Publishes all claims, or none.
fn publish_claims(log: &EmbeddedLog, claims: Vec<Claim>) -> Result<(), BusError> {
    let all = claims.iter().map(|claim| claim.event(None, ContentTexts::NONE, &Source::of("local")));
    let mut deliveries = block_on(events::publish(log, all.collect()));
    deliveries.dedup();
    assert!(deliveries.len() <= 1, "{deliveries:?}");
    match deliveries.pop() {
        None | Some(Delivery::Published) => Ok(()),
        Some(Delivery::Refused(why) | Delivery::Unknown(why)) => Err(BusError(why)),
    }
}

/// Offsets and users of the events after `after`.
fn read(log: &EmbeddedLog, after: Offset, limit: usize) -> Vec<(Offset, u64)> {
    let events = block_on(log.read(after, limit)).unwrap().events;
    let mid = |event: &str| {
        let event: serde_json::Value = serde_json::from_str(event).unwrap();
        event["data"]["mid"].as_str().unwrap().parse().unwrap()
    };
    events.iter().map(|(offset, event)| (*offset, mid(event))).collect()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn events_have_offsets_from_1_in_the_order_of_their_claims() {
    let fixture = Fixture::new();
    let log = fixture.log();
    assert_eq!((read(log, 0, 100), *log.newest().borrow()), (vec![], 0));
    publish(log, [10, 11]).unwrap();
    publish(log, []).unwrap();
    publish(log, [12]).unwrap();
    assert_eq!(read(log, 0, 100), [(1, 10), (2, 11), (3, 12)]);
    assert_eq!(read(log, 1, 1), [(2, 11)]);
    assert_eq!(read(log, 3, 100), []);
    assert_eq!(read(log, u64::MAX, 100), []);
}

#[test]
fn an_event_is_read_as_it_was_published() {
    let fixture = Fixture::new();
    publish(fixture.log(), [42]).unwrap();
    let event = claim(42).event(None, ContentTexts::NONE, &Source::of("local")).to_json();
    assert_eq!(block_on(fixture.log().read(0, 1)).unwrap().events, [(1, event)]);
}

#[test]
fn a_read_is_bounded_in_bytes_and_returns_at_least_one_event() {
    let fixture = Fixture::new();
    let mut long = claim(1);
    long.device = "x".repeat(READ_BYTES_MAX / 2).into();
    let mut longest = claim(2);
    longest.device = "x".repeat(READ_BYTES_MAX * 2).into();
    publish_claims(fixture.log(), vec![long.clone(), long.clone(), longest, long]).unwrap();
    let offsets = |after| read(fixture.log(), after, 100).iter().map(|(offset, _)| *offset).collect::<Vec<_>>();
    assert_eq!((offsets(0), offsets(1), offsets(2), offsets(3)), (vec![1], vec![2], vec![3], vec![4]));
}

#[test]
fn a_tailing_reader_is_woken_when_an_event_is_published() {
    let fixture = Fixture::new();
    let log = fixture.log();
    let mut newest = log.newest();
    thread::scope(|scope| {
        let told = scope.spawn(move || {
            block_on(newest.changed()).unwrap();
            read(log, 0, 100)
        });
        publish(log, [1, 2]).unwrap();
        assert_eq!(told.join().unwrap(), [(1, 1), (2, 2)]);
    });
}

#[test]
fn offsets_continue_after_a_restart_and_after_a_kill() {
    let mut fixture = Fixture::new();
    publish(fixture.log(), [10, 11]).unwrap();
    fixture.reopen();
    assert_eq!(*fixture.log().newest().borrow(), 2);
    publish(fixture.log(), [12]).unwrap();
    let killed = fixture.killed();
    let log = fixture.open(killed.path()).unwrap();
    assert_eq!(read(&log, 0, 100), [(1, 10), (2, 11), (3, 12)]);
    publish(&log, [13]).unwrap();
    assert_eq!(read(&log, 2, 100), [(3, 12), (4, 13)]);
}

#[test]
fn a_torn_end_is_cut_off_and_its_offset_is_free() {
    let fixture = Fixture::new();
    publish(fixture.log(), [10]).unwrap();
    publish(fixture.log(), [11, 12]).unwrap();
    let killed = fixture.killed();
    let journal = killed.path().join("events/tables/0.jnl");
    let mut bytes = fs::read(&journal).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[end - 100..].fill(0);
    fs::write(&journal, bytes).unwrap();
    let log = fixture.open(killed.path()).unwrap();
    assert_eq!(read(&log, 0, 100), [(1, 10)]);
    publish(&log, [13]).unwrap();
    assert_eq!(read(&log, 0, 100), [(1, 10), (2, 13)]);
}

#[test]
fn events_over_the_age_are_removed_and_their_offsets_not_reused() {
    let mut fixture = Fixture::new();
    publish(fixture.log(), 1..=1500).unwrap();
    fixture.pass_days(6);
    publish(fixture.log(), [2000]).unwrap();
    fixture.pass_days(2);
    wait_until("the old ones go", || read(fixture.log(), 0, 1) == [(1501, 2000)]);
    assert_eq!(read(fixture.log(), 7, 100), [(1501, 2000)], "who was behind goes on with the oldest");
    fixture.pass_days(6);
    wait_until("all go", || read(fixture.log(), 0, 1).is_empty());
    fixture.reopen();
    assert_eq!((*fixture.log().newest().borrow(), read(fixture.log(), 0, 1)), (1501, vec![]));
    publish(fixture.log(), [3000]).unwrap();
    assert_eq!(read(fixture.log(), 0, 100), [(1502, 3000)]);
}

#[test]
fn only_events_over_the_size_are_removed() {
    let event = claim(100).event(None, ContentTexts::NONE, &Source::of("local")).to_json().len() as u64;
    let fixture = Fixture::with_bytes(10 * event + event / 2);
    publish(fixture.log(), 100..120).unwrap();
    wait_until("ten are left", || read(fixture.log(), 0, 1) == [(11, 110)]);
    publish(fixture.log(), 120..123).unwrap();
    wait_until("ten are left", || read(fixture.log(), 0, 1) == [(14, 113)]);
    thread::sleep(Duration::from_millis(50));
    assert_eq!(read(fixture.log(), 0, 100).len(), 10);
}

#[test]
fn segments_form_one_log_and_are_removed_with_their_files() {
    let mut fixture = Fixture::new();
    // Each begins a segment.
    for mid in 1..=20 {
        fixture.pass_days(1);
        publish(fixture.log(), [mid, mid + 100]).unwrap();
    }
    let kept: Vec<_> = (13..=20).flat_map(|mid| [(2 * mid - 1, mid), (2 * mid, mid + 100)]).collect();
    wait_until("a week is left", || read(fixture.log(), 0, 100) == kept);
    assert_eq!(read(fixture.log(), 31, 2), kept[7..9]);
    // Eight of events, two of fjall's own and the state, and one that is being removed.
    let folders = |dir: &Path| fs::read_dir(dir.join("events/tables/keyspaces")).unwrap().count();
    wait_until("their files are gone", || folders(fixture.dir.path()) <= 11);
    fixture.reopen();
    assert_eq!(read(fixture.log(), 0, 100), kept);
    publish(fixture.log(), [21]).unwrap();
    assert_eq!(read(fixture.log(), 38, 100), [(39, 20), (40, 120), (41, 21)]);
    fixture.pass_days(10);
    wait_until("all is gone", || folders(fixture.dir.path()) <= 3);
    publish(fixture.log(), [22]).unwrap();
    fixture.reopen();
    assert_eq!(read(fixture.log(), 0, 100), [(42, 22)]);
}

#[test]
fn a_clock_set_back_removes_events_neither_early_nor_late() {
    let fixture = Fixture::new();
    publish(fixture.log(), [1]).unwrap();
    fixture.clock.fetch_sub(50 * DAY_MS, Ordering::Relaxed);
    fixture.wall_clock.fetch_sub(50 * DAY_MS, Ordering::Relaxed);
    publish(fixture.log(), [2]).unwrap();
    fixture.pass_days(56);
    thread::sleep(10 * PASS);
    assert_eq!(read(fixture.log(), 0, 100), [(1, 1), (2, 2)]);
    fixture.pass_days(2);
    wait_until("both go", || read(fixture.log(), 0, 1).is_empty());
}

#[test]
fn a_clock_that_is_wrong_at_the_start_removes_nothing() {
    let mut fixture = Fixture::new();
    fixture.clock_step_max = Duration::from_secs(300);
    publish(fixture.log(), [1, 2]).unwrap();
    fixture.log = None;
    fixture.pass_days(100);
    fixture.reopen();
    thread::sleep(10 * PASS);
    assert_eq!(read(fixture.log(), 0, 100), [(1, 1), (2, 2)]);
}

#[test]
fn a_step_of_the_clock_that_is_over_soon_removes_nothing() {
    let mut fixture = Fixture::new();
    fixture.clock_step_max = Duration::from_secs(300);
    publish(fixture.log(), [1, 2]).unwrap();
    fixture.reopen();
    thread::sleep(10 * PASS);
    fixture.clock.fetch_add(100 * DAY_MS, Ordering::Relaxed);
    fixture.step.store(100 * DAY_MS, Ordering::Relaxed);
    wait_until("a reading sees it", || fixture.step.load(Ordering::Relaxed) == 0);
    thread::sleep(10 * PASS);
    assert_eq!(read(fixture.log(), 0, 100), [(1, 1), (2, 2)]);
}

#[test]
fn no_event_is_too_old_by_the_server_clock_alone() {
    let fixture = Fixture::new();
    publish(fixture.log(), [1]).unwrap();
    fixture.clock.fetch_add(100 * DAY_MS, Ordering::Relaxed);
    thread::sleep(10 * PASS);
    assert_eq!(read(fixture.log(), 0, 100), [(1, 1)]);
    fixture.pass_days(8);
    wait_until("it goes", || read(fixture.log(), 0, 1).is_empty());
}

/// A table that cannot be written poisons the log.
#[test]
fn a_failed_log_refuses_writes_and_recovers_by_itself() {
    let fixture = Fixture::new();
    let log = fixture.log();
    publish(log, [1]).unwrap();
    let keyspaces = fixture.dir.path().join("events/tables/keyspaces");
    let away = fixture.dir.path().join("events/away");
    fs::rename(&keyspaces, &away).unwrap();
    // More than a table in the making may hold.
    publish(log, 2..=20_000).unwrap();
    wait_until("publishing is refused", || publish(log, [0]).is_err());
    // Reads go on until it is tried to open the log anew, and never take it for an empty one.
    for _ in 0..10 {
        match block_on(log.read(0, 1)) {
            Ok(part) => assert_eq!((part.events.len(), part.newest >= 20_000), (1, true)),
            Err(BusError(why)) => assert!(why.contains("cannot be opened"), "{why}"),
        }
        thread::sleep(RETRY_MIN);
    }
    fs::rename(&away, &keyspaces).unwrap();
    let newest = *log.newest().borrow();
    wait_until("publishing goes on", || publish(log, [30_000]).is_ok());
    assert_eq!(read(log, newest, 10).last(), Some(&(*log.newest().borrow(), 30_000)));
    assert_eq!(read(log, 19_998, 2), [(19_999, 19_999), (20_000, 20_000)]);
    let offsets: Vec<_> = (0..).step_by(1000).map_while(|after| read(log, after, 1).pop()).collect();
    assert!(offsets.iter().enumerate().all(|(nth, (offset, _))| *offset == nth as u64 * 1000 + 1), "no gaps");
}

#[test]
fn a_log_whose_entries_were_changed_is_refused() {
    let mut fixture = Fixture::new();
    publish(fixture.log(), [1, 2]).unwrap();
    fixture.log = None;
    let tables = Tables::open(&fixture.dir.path().join("events/tables"), Journal::Used).unwrap();
    tables.segments.of(2).unwrap().remove(codec::key(2)).unwrap();
    drop(tables);
    let error = fixture.open(fixture.dir.path()).err().expect("refused").to_string();
    assert!(error.contains("entries differ from what was written") && error.contains("events"), "{error}");
}

#[test]
fn a_log_keeps_its_id_and_a_new_log_has_another_id() {
    let id = |log: &EmbeddedLog| block_on(log.read(0, 1)).unwrap().log;
    let mut fixture = Fixture::new();
    let first = id(fixture.log());
    assert!(first.len() == 32 && first.bytes().all(|digit| digit.is_ascii_hexdigit()), "{first}");
    let killed = fixture.killed();
    assert_eq!(id(&fixture.open(killed.path()).unwrap()), first, "also after a kill");
    fixture.reopen();
    assert_eq!(id(fixture.log()), first);
    fixture.log = None;
    std::fs::remove_dir_all(fixture.dir.path().join("events")).unwrap();
    fixture.reopen();
    assert_ne!(id(fixture.log()), first, "offsets begin anew");
}
