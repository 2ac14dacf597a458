//! The rows of one user in memory, decided by the rule.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use futures_util::future::{BoxFuture, FutureExt, pending, ready};
use heartline::model::decide::{Decider, KeptContent, UserState};
use heartline::model::forgetting::{ContentRow, Eviction, UserRow};
use heartline::model::ids::{Content, UserId};
use heartline::model::outbox_entry::OutboxEntry;
use heartline::model::page::{Page, PageRequest};
use heartline::model::record::Record;
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::model::rewards::day::Day;
use heartline::model::rows_read::RowsRead;
use heartline::model::shard::Shard;
use heartline::model::transition::Cause;
use heartline::storage::hot_store::{Answer, Claims, Committed, Group, Positions, StoreClock, StoreError, UserStatus};
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
    /// Of no interest: everything is kept where it is changed.
    changed: bool,
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
}

impl UserState for Rows {
    type Error = Infallible;

    fn forgetting(&mut self) -> Result<&UserRow, Infallible> {
        Ok(&self.user)
    }

    fn put_forgetting(&mut self, row: UserRow) -> Result<(), Infallible> {
        self.user = row;
        Ok(())
    }

    fn content(&mut self, content: Content) -> Result<KeptContent<'_>, Infallible> {
        let row = self.contents.entry(content).or_default();
        Ok(KeptContent { forgetting: &self.user, row, changed: &mut self.changed })
    }

    fn newest_record(&mut self, _: u64) -> Result<u64, Infallible> {
        Ok(self.live().map(|record| record.at).max().unwrap_or(0))
    }

    /// There is no cap.
    fn contents(&mut self) -> Result<u32, Infallible> {
        Ok(0)
    }

    fn put_contents(&mut self, _: u32) -> Result<(), Infallible> {
        Ok(())
    }

    fn first_to_go(&mut self, _: Content) -> Result<Option<(Eviction, Content)>, Infallible> {
        Ok(None)
    }

    fn goes_sooner(&mut self, _: Content) -> Result<(), Infallible> {
        Ok(())
    }

    fn erase_contents(&mut self, erased: impl FnMut(Record)) -> Result<u64, Infallible> {
        let newest = self.contents.values().map(ContentRow::newest).max().unwrap_or(0);
        std::mem::take(&mut self.contents).into_values().filter_map(|row| row.record).for_each(erased);
        Ok(newest)
    }

    /// There are no rules.
    fn prune_contents(&mut self, _: u64, _: impl FnMut(Record, Cause)) -> Result<bool, Infallible> {
        Ok(false)
    }

    fn is_claimed(&mut self, _: &ClaimKey) -> Result<bool, Infallible> {
        Ok(true)
    }

    fn claim(&mut self, _: Claim) {}

    fn erase_claims(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Positions for Memory {
    fn commit<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Committed, StoreError>> {
        if self.is_dead() {
            return pending().boxed();
        }
        let mut rows = self.rows();
        let mut decider = Decider::new(group.now, 0, u32::MAX, &group.rewards);
        let outcomes = group.changes.iter().enumerate().map(|(place, change)| {
            let Ok(outcome) = decider.decide(&mut *rows, place, change.user, &change.action);
            outcome
        });
        let outcomes = outcomes.collect();
        let (_, transitions) = decider.finish();
        ready(Ok(Committed { outcomes, transitions, ..Committed::default() })).boxed()
    }

    fn get(&self, _: UserId, contents: Vec<Content>, _: u64) -> Answer<Vec<Option<Record>>> {
        self.answer(|rows| {
            let record = |content| rows.live().find(|record| record.content == content).cloned();
            contents.into_iter().map(record).collect()
        })
    }

    fn list(&self, _: UserId, request: PageRequest, _: u64, read: RowsRead) -> Answer<Page> {
        self.answer(|rows| {
            read.add(rows.contents.len() as u64);
            request.cut(rows.live().filter(|record| request.wants(record)).cloned().collect())
        })
    }

    fn paused(&self, _: UserId) -> Answer<bool> {
        self.answer(|rows| rows.user.recording.paused())
    }
}

impl Claims for Memory {
    fn user_status(&self, _: UserId, _: Day) -> Answer<UserStatus> {
        self.answer(|rows| UserStatus { paused: rows.user.recording.paused(), rewarded: Vec::new() })
    }

    fn claims_of(&self, _: UserId, _: Day, _: usize) -> Answer<Vec<ClaimKey>> {
        self.answer(|_| Vec::new())
    }

    fn claims_in(&self, _: Shard, _: Day) -> Answer<Vec<ClaimKey>> {
        self.answer(|_| Vec::new())
    }
}

impl StoreClock for Memory {}

/// Where nothing is claimed, nothing waits.
pub struct NoOutbox;

impl Outbox for NoOutbox {
    fn read(&self, _: OutboxNumber, _: usize) -> Answer<Vec<(OutboxNumber, OutboxEntry)>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn remove(&self, _: Vec<OutboxNumber>) -> Answer<()> {
        ready(Ok(())).boxed()
    }

    fn len(&self) -> u64 {
        0
    }
}
