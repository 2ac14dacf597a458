//! Short ways to say what is asked of a store, and to wait for the answer.

use std::future::Future;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use heartline::model::beat::{Beat, State};
use heartline::model::change::{Action, Change, Outcome};
use heartline::model::decide::Transitions;
use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::page::{Page, PageRequest};
use heartline::model::record::Record;
use heartline::model::retention::Retention;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::rewards::rule::RuleSet;
use heartline::model::rows_read::RowsRead;
use heartline::model::transition::Cause;
use heartline::storage::hot_store::{Committed, Group, HotStore};
use heartline::storage::outbox::Outbox;
use heartline::storage::store_error::StoreError;

pub const USER: UserId = UserId(42);
/// The server's clock in these tests, milliseconds.
pub const NOW: u64 = 1_795_150_000_000;

/// How soon the shards of a new store name the generations of its counters.
const GENERATIONS_WITHIN: Duration = Duration::from_secs(30);

/// A backend that can be opened again on the same data.
pub trait Backend: Sized {
    /// Whether an outbox that was opened again has its claims in the order in which they were made.
    const OUTBOX_KEEPS_ORDER: bool;

    /// A fresh, empty one.
    fn fresh(limits: Limits) -> Self;
    fn store(&self) -> Arc<dyn HotStore>;
    fn outbox(&self) -> Arc<dyn Outbox>;
    fn reopen(&mut self, limits: Limits);
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub retention_ms: u64,
    pub records_per_user: u32,
}

const DAY_MS: u64 = 86_400_000;

impl Limits {
    /// What is older has expired. Whole days are days of UTC, today included.
    pub fn horizon(&self, now: u64) -> u64 {
        match self.retention_ms % DAY_MS {
            0 => (now - now % DAY_MS + DAY_MS).saturating_sub(self.retention_ms),
            _ => now.saturating_sub(self.retention_ms),
        }
    }

    pub fn retention(&self) -> Retention {
        Retention::of(Duration::from_millis(self.retention_ms))
    }
}

/// Nothing ends: the retention is longer than the clock has run.
pub const ROOMY: Limits = Limits { retention_ms: 2 * NOW, records_per_user: 10_000 };

pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

pub fn content(oid: u64) -> Content {
    Content { kind: 1, oid }
}

/// Equal (at, session) means the same beat, so all else of it follows from them.
pub fn beat(content: Content, at: u64, session: u64) -> Beat {
    Beat {
        content,
        pos: session.wrapping_add(at % 100_000),
        dur: 0,
        state: State::Playing,
        session: SessionId(session),
        watched: Some(at % 1_000),
        rate: 1.0,
        at,
    }
}

pub fn change(user: UserId, action: Action) -> Change {
    Change { user, action }
}

pub fn beat_of(user: UserId, content: Content, at: u64) -> Change {
    change(user, Action::beat(beat(content, at, 1), Arc::from("tv"), RuleSet::NONE))
}

pub fn delete(oids: &[u64], at: u64) -> Change {
    change(USER, Action::Delete { contents: oids.iter().map(|oid| content(*oid)).collect(), at })
}

pub fn clear(at: u64) -> Change {
    change(USER, Action::Clear { at })
}

pub fn recording(paused: bool, at: u64) -> Change {
    change(USER, Action::Recording { paused, at })
}

pub fn erase() -> Change {
    erase_at(NOW)
}

pub fn erase_at(at: u64) -> Change {
    change(USER, Action::Erase { at })
}

pub fn prune(user: UserId, horizon: u64) -> Change {
    change(user, Action::Prune { horizon })
}

pub fn commit_at(store: &Arc<dyn HotStore>, now: u64, changes: Vec<Change>) -> Vec<Outcome> {
    commit_group(store, now, changes).outcomes
}

/// With its transitions.
pub fn commit_group(store: &Arc<dyn HotStore>, now: u64, changes: Vec<Change>) -> Committed {
    wait(store.commit(&Group::unrewarded(now, changes))).expect("a commit")
}

/// Of each transition the change, the `at` before and after, and the cause.
pub fn moves(transitions: &Transitions) -> Vec<(usize, Option<u64>, Option<u64>, Cause)> {
    let at = |record: &Option<Record>| record.as_ref().map(|record| record.at);
    let moves = transitions.iter().map(|(change, moved)| (*change, at(&moved.before), at(&moved.after), moved.cause));
    moves.collect()
}

/// What of the group is rewarded, and what became of it.
pub fn commit_rewarded(store: &Arc<dyn HotStore>, now: u64, rewards: Rewarding, changes: Vec<Change>) -> Committed {
    let (group, until) = (Group::new(now, changes, rewards), Instant::now() + GENERATIONS_WITHIN);
    loop {
        match wait(store.commit(&group)) {
            // Where counters are on a busy Redis, the gateway repeats it, too.
            Err(StoreError::Away(why)) if why.contains("generations") && Instant::now() < until => {
                thread::sleep(Duration::from_millis(20));
            }
            committed => return committed.expect("a commit"),
        }
    }
}

pub fn commit(store: &Arc<dyn HotStore>, changes: Vec<Change>) -> Vec<Outcome> {
    commit_at(store, NOW, changes)
}

pub fn get(store: &Arc<dyn HotStore>, user: UserId, contents: Vec<Content>) -> Vec<Option<Record>> {
    wait(store.get(user, contents, NOW)).expect("an answer").records
}

/// The `at` of each of these contents of [`USER`].
pub fn ats(store: &Arc<dyn HotStore>, oids: &[u64]) -> Vec<Option<u64>> {
    let records = get(store, USER, oids.iter().map(|oid| content(*oid)).collect());
    records.into_iter().map(|record| record.map(|record| record.at)).collect()
}

pub fn everything() -> PageRequest {
    PageRequest { limit: usize::MAX, after: None, kinds: Vec::new(), finished: None }
}

pub fn list(store: &Arc<dyn HotStore>, user: UserId, request: PageRequest) -> Page {
    wait(store.list(user, request, NOW, RowsRead::default())).expect("an answer")
}

pub fn oids(page: &Page) -> Vec<u64> {
    page.records.iter().map(|record| record.content.oid).collect()
}
