//! The rows of one user in memory, decided by the rule.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use futures_util::future::{BoxFuture, FutureExt, pending, ready};
use heartline::model::change::{Action, Outcome, When};
use heartline::model::forgetting::{ContentRow, UserRow};
use heartline::model::ids::{Content, UserId};
use heartline::model::moment::Moment;
use heartline::model::page::{Page, PageRequest};
use heartline::model::record::Record;
use heartline::model::recording::Switch;
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::model::rewards::day::Day;
use heartline::model::rule::decide;
use heartline::model::shard::Shard;
use heartline::storage::hot_store::{Answer, Committed, Group, HotStore, Standing, StoreError};
use heartline::storage::outbox::{Outbox, OutboxNumber};

#[derive(Default)]
pub struct Memory {
    rows: Mutex<Rows>,
    /// It never answers any more.
    dead: AtomicBool,
}

#[derive(Default)]
struct Rows {
    user: UserRow,
    contents: HashMap<Content, ContentRow>,
}

impl Memory {
    pub fn dead() -> Self {
        let memory = Memory::default();
        memory.die();
        memory
    }

    pub fn die(&self) {
        self.dead.store(true, Ordering::Relaxed);
    }

    fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().expect("no panic")
    }

    fn answer<T: Send + 'static>(&self, answer: impl FnOnce(&Rows) -> T) -> Answer<T> {
        if self.is_dead() { pending().boxed() } else { ready(Ok(answer(&self.rows()))).boxed() }
    }
}

impl Rows {
    fn live(&self) -> impl Iterator<Item = &Record> {
        self.contents.values().filter_map(|row| row.live(&self.user, 0))
    }

    fn newest(&self, contents: Option<&[Content]>) -> u64 {
        let concerned = |record: &&Record| contents.is_none_or(|contents| contents.contains(&record.content));
        self.live().filter(concerned).map(|record| record.at).max().unwrap_or(0)
    }

    fn moment(&self, at: When, now: u64, contents: Option<&[Content]>) -> Option<u64> {
        let Ok(at) = at.resolve(now, || Ok::<_, Infallible>(self.newest(contents)));
        at
    }

    fn apply(&mut self, action: &Action, now: u64) -> Outcome {
        let outcome = match action {
            Action::Beat { beat, device, .. } => {
                let row = self.contents.entry(beat.content).or_default();
                Some(Outcome::Beat(decide(&self.user, row, beat, device, &Moment { now, ..Moment::default() })))
            }
            Action::Delete { contents, at } => self.moment(*at, now, Some(contents)).map(|at| {
                let mut moves = |content: &Content| self.contents.entry(*content).or_default().delete(at);
                Outcome::Deleted { moved: contents.iter().copied().filter(|content| moves(content)).collect(), at }
            }),
            Action::Clear { at } => {
                self.moment(*at, now, None).map(|at| Outcome::Cleared { moved: self.user.clear(at), at })
            }
            Action::Recording { paused, at } => self.moment(*at, now, None).map(|at| {
                let moved = self.user.recording.switch(Switch { at, paused: *paused }, 0);
                Outcome::Recording { moved, paused: self.user.recording.paused() }
            }),
            Action::Erase => {
                let resumed = self.user.recording.paused();
                let newest = self.contents.values().map(ContentRow::newest).max().unwrap_or(0);
                self.contents.clear();
                self.user.erase(now.max(newest));
                Some(Outcome::Erased { at: self.user.watermark, resumed })
            }
        };
        outcome.unwrap_or(Outcome::Ahead)
    }
}

impl HotStore for Memory {
    fn commit<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Committed, StoreError>> {
        if self.is_dead() {
            return pending().boxed();
        }
        let mut rows = self.rows();
        let outcomes = group.changes.iter().map(|change| rows.apply(&change.action, group.now)).collect();
        ready(Ok(Committed { outcomes, ..Committed::default() })).boxed()
    }

    fn get(&self, _: UserId, contents: Vec<Content>, _: u64) -> Answer<Vec<Option<Record>>> {
        self.answer(|rows| {
            let record = |content| rows.live().find(|record| record.content == content).cloned();
            contents.into_iter().map(record).collect()
        })
    }

    fn list(&self, _: UserId, request: PageRequest, _: u64) -> Answer<Page> {
        self.answer(|rows| request.cut(rows.live().filter(|record| request.wants(record)).cloned().collect()))
    }

    fn paused(&self, _: UserId) -> Answer<bool> {
        self.answer(|rows| rows.user.recording.paused())
    }

    fn standing(&self, _: UserId, _: Day) -> Answer<Standing> {
        self.answer(|rows| Standing { paused: rows.user.recording.paused(), rewarded: Vec::new() })
    }

    fn claims_of(&self, _: UserId, _: Day, _: usize) -> Answer<Vec<ClaimKey>> {
        self.answer(|_| Vec::new())
    }

    fn claims_in(&self, _: Shard, _: Day) -> Answer<Vec<ClaimKey>> {
        self.answer(|_| Vec::new())
    }
}

/// Where nothing is claimed, nothing waits.
pub struct NoOutbox;

impl Outbox for NoOutbox {
    fn read(&self, _: OutboxNumber, _: usize) -> Answer<Vec<(OutboxNumber, Claim)>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn remove(&self, _: OutboxNumber) -> Answer<()> {
        ready(Ok(())).boxed()
    }

    fn len(&self) -> u64 {
        0
    }
}
