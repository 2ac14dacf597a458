//! Short ways to say what is written, and to wait for the answer.

use std::future::Future;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use heartline::model::beat::State;
use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::pack::{PackedForgetting, PackedRecord, PackedRow, UserPack};
use heartline::model::recording::Switch;
use heartline::model::retention::Retention;
use heartline::model::version::Version;
use heartline::storage::history_store::{HistoryStore, HistoryUser};

use crate::history_store::PATIENCE;

/// A history store of a retention. Other tests may use the same one: each has users of its own.
pub trait Backend {
    type Store: HistoryStore;

    fn open(retention: Retention) -> Self::Store;
}

pub const DAY_MS: u64 = 86_400_000;
pub const LONG: Retention = Retention::of(Duration::from_millis(90 * DAY_MS));

pub fn wall() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// A user whom no other test knows, of any 64 bits.
pub fn some_user() -> UserId {
    UserId(rand::random())
}

pub fn content(oid: u64) -> Content {
    Content { kind: 1, oid }
}

/// All that is in it follows from its moment.
pub fn record(at: u64) -> PackedRecord {
    PackedRecord {
        pos: at % 1_000_003,
        dur: 3_600_000,
        state: State::of_number(1 + (at % 4) as u8).unwrap(),
        session: SessionId(at.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        device: format!("tv-{}", at % 7).into(),
        watched: at % 100_003,
        at,
    }
}

pub fn played(oid: u64, at: u64) -> PackedRow {
    PackedRow { content: content(oid), record: Some(record(at)), tombstone: 0, version: Version::first_of(at) }
}

pub fn deleted(oid: u64, at: u64) -> PackedRow {
    PackedRow { content: content(oid), record: None, tombstone: at, version: Version::last_of(at) }
}

pub fn cleared(watermark: u64) -> PackedForgetting {
    PackedForgetting { watermark, floor: 0, switches: Vec::new(), version: Version::last_of(watermark) }
}

pub fn switched(version: Version, switches: &[(u64, bool)]) -> PackedForgetting {
    let switches = switches.iter().map(|&(at, paused)| Switch { at, paused }).collect();
    PackedForgetting { watermark: 0, floor: 0, switches, version }
}

pub fn pack(user: UserId, forgetting: Option<PackedForgetting>, rows: Vec<PackedRow>) -> UserPack {
    UserPack { user, forgetting, rows }
}

pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Again while the store is away, as its callers do: a busy machine lets a write wait for too long.
pub fn write(store: &impl HistoryStore, users: Vec<UserPack>) {
    let users: Arc<[UserPack]> = users.into();
    until("packs are written", || {
        let written = wait(store.write(users.clone(), None, wall()));
        written.inspect_err(|away| eprintln!("{away}")).is_ok()
    });
}

/// Likewise.
pub fn read(store: &impl HistoryStore, user: UserId, now: u64) -> HistoryUser {
    let mut found = None;
    until("a user is read", || {
        found = wait(store.read(user, now)).inspect_err(|away| eprintln!("{away}")).ok();
        found.is_some()
    });
    found.unwrap()
}

/// What one user has, and a store that it is written to.
pub struct Kept<S> {
    pub store: Arc<S>,
    pub user: UserId,
}

impl<S: HistoryStore> Kept<S> {
    pub fn new<B: Backend<Store = S>>(retention: Retention) -> Self {
        Kept { store: Arc::new(B::open(retention)), user: some_user() }
    }

    pub fn write(&self, rows: &[PackedRow]) {
        self.write_all(None, rows);
    }

    pub fn forget(&self, forgetting: &PackedForgetting) {
        self.write_all(Some(forgetting.clone()), &[]);
    }

    pub fn write_all(&self, forgetting: Option<PackedForgetting>, rows: &[PackedRow]) {
        write(&*self.store, vec![pack(self.user, forgetting, rows.to_vec())]);
    }

    pub fn read(&self) -> HistoryUser {
        self.read_at(wall())
    }

    pub fn read_at(&self, now: u64) -> HistoryUser {
        read(&*self.store, self.user, now)
    }

    pub fn rows(&self) -> Vec<PackedRow> {
        self.read().rows
    }
}

/// Waits for what was promised.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not in {PATIENCE:?}: {what}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// All orders of up to five.
pub fn orders<T: Clone>(things: &[T]) -> Vec<Vec<T>> {
    if things.is_empty() {
        return vec![Vec::new()];
    }
    let each = (0..things.len()).flat_map(|first| {
        let mut others = things.to_vec();
        let one = others.remove(first);
        orders(&others).into_iter().map(move |rest| [vec![one.clone()], rest].concat())
    });
    each.collect()
}
