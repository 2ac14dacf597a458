//! The rows of one user in memory, decided by the rule.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use futures_util::future::{BoxFuture, FutureExt, pending, ready};
use heartline::model::decide::{Decider, Draft};
use heartline::model::ids::{Content, UserId};
use heartline::model::outbox_entry::OutboxEntry;
use heartline::model::page::{Page, PageRequest, UsersRequest};
use heartline::model::record::Record;
use heartline::model::recording::Switch;
use heartline::model::rewards::claim::ClaimKey;
use heartline::model::rewards::day::Day;
use heartline::model::rows_read::RowsRead;
use heartline::model::shard::Shard;
use heartline::model::walk::{WalkRequest, Walked};
use heartline::storage::hot_store::{
    Answer, Claims, Committed, Found, Group, Positions, StoreClock, StoreError, StoredUsers, UserStatus,
};
use heartline::storage::outbox::{Outbox, OutboxNumber};

use crate::http::plain_user::PlainUser;

#[derive(Default)]
pub struct Memory {
    rows: Mutex<PlainUser>,
    /// It never answers any more.
    dead: AtomicBool,
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

    fn rows(&self) -> MutexGuard<'_, PlainUser> {
        self.rows.lock().expect("no panic")
    }

    fn answer<T: Send + 'static>(&self, answer: impl FnOnce(&PlainUser) -> T) -> Answer<T> {
        if self.is_dead() { pending().boxed() } else { ready(Ok(answer(&self.rows()))).boxed() }
    }
}

fn live(kept: &PlainUser) -> impl Iterator<Item = &Record> {
    kept.contents.values().filter_map(|row| row.live(&kept.row, 0))
}

impl Positions for Memory {
    fn commit<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Committed, StoreError>> {
        if self.is_dead() {
            return pending().boxed();
        }
        let mut rows = self.rows();
        let mut decider = Decider::new(group.now, 0, u32::MAX, &group.rewards);
        let outcomes = group.changes.iter().enumerate().map(|(index, change)| {
            let Ok(mut draft) = Draft::new(&*rows);
            let Ok(outcome) = decider.decide(&mut draft, index, change.user, &change.action);
            let drafted = draft.finish();
            rows.store(drafted);
            outcome
        });
        let outcomes = outcomes.collect();
        let (_, transitions) = decider.finish();
        ready(Ok(Committed { outcomes, transitions, ..Committed::default() })).boxed()
    }

    fn get(&self, _: UserId, contents: Vec<Content>, _: u64) -> Answer<Found> {
        self.answer(|rows| {
            let record = |content| live(rows).find(|record| record.content == content).cloned();
            contents.into_iter().map(record).collect::<Vec<_>>().into()
        })
    }

    fn list(&self, _: UserId, request: PageRequest, _: u64, read: RowsRead) -> Answer<Page> {
        self.answer(|rows| {
            read.add(rows.contents.len() as u64);
            request.cut(live(rows).filter(|record| request.wants(record)).cloned().collect())
        })
    }

    fn last_switch(&self, _: UserId) -> Answer<Option<Switch>> {
        self.answer(|rows| rows.row.recording.last())
    }
}

impl Claims for Memory {
    fn user_status(&self, _: UserId, _: Day) -> Answer<UserStatus> {
        self.answer(|rows| UserStatus { paused: rows.row.recording.paused(), rewarded: Vec::new() })
    }

    fn claims_of(&self, _: UserId, _: Day, _: usize) -> Answer<Vec<ClaimKey>> {
        self.answer(|_| Vec::new())
    }

    fn claims_in(&self, _: Shard, _: Day) -> Answer<Vec<ClaimKey>> {
        self.answer(|_| Vec::new())
    }
}

impl StoredUsers for Memory {
    fn users(&self, _: UsersRequest, _: u64) -> Answer<Vec<UserId>> {
        self.answer(|_| Vec::new())
    }

    fn walk(&self, _: UserId, _: WalkRequest, _: u64) -> Answer<Walked> {
        self.answer(|_| Walked::default())
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
