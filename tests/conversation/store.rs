//! The reads that conversations ask for, answered when the test says. They see what was stored when they were asked
//! for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, FutureExt, ready};
use heartline::model::ids::{Content, UserId};
use heartline::model::page::{Page, PageRequest};
use heartline::model::recording::Switch;
use heartline::model::rewards::claim::ClaimKey;
use heartline::model::rewards::day::Day;
use heartline::model::rows_read::RowsRead;
use heartline::model::shard::Shard;
use heartline::storage::hot_store::{Answer, Claims, Committed, Found, Group, Positions, StoreError, UserStatus};
use tokio::sync::oneshot;

use crate::conversation::plain_store::PlainStore;
use crate::conversation::requests::ROOMY;

pub struct Reads {
    pub plain: Mutex<PlainStore>,
    asked: Mutex<VecDeque<Asked>>,
}

/// A read that is under way. It goes well with `true`.
pub struct Asked {
    pub user: UserId,
    goes_well: oneshot::Sender<bool>,
}

impl Asked {
    pub fn answer(self, goes_well: bool) {
        // The asker may have given up.
        let _ = self.goes_well.send(goes_well);
    }

    /// Whether the asker still waits.
    pub fn is_awaited(&self) -> bool {
        !self.goes_well.is_closed()
    }
}

impl Reads {
    pub fn new() -> Arc<Self> {
        Arc::new(Reads { plain: Mutex::new(PlainStore::new(ROOMY)), asked: Mutex::default() })
    }

    /// Those that were asked for since the last look.
    pub fn asked(&self) -> VecDeque<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn later<T: Send + 'static>(&self, user: UserId, answer: T) -> Answer<T> {
        let (goes_well, answered) = oneshot::channel();
        self.asked.lock().unwrap().push_back(Asked { user, goes_well });
        let away = || StoreError::Away("as the test wants it".to_owned());
        async move { if answered.await.unwrap_or(false) { Ok(answer) } else { Err(away()) } }.boxed()
    }
}

impl Positions for Reads {
    fn commit<'a>(&'a self, _: &'a Group) -> BoxFuture<'a, Result<Committed, StoreError>> {
        unreachable!("the test commits by itself")
    }

    fn get(&self, user: UserId, contents: Vec<Content>, now: u64) -> Answer<Found> {
        let plain = self.plain.lock().unwrap();
        let records: Vec<_> = contents.into_iter().map(|content| plain.get(user, content, now)).collect();
        self.later(user, Found::from(records))
    }

    fn list(&self, user: UserId, request: PageRequest, now: u64, rows: RowsRead) -> Answer<Page> {
        let page = self.plain.lock().unwrap().list(user, &request, now);
        rows.add(page.records.len() as u64);
        self.later(user, page)
    }

    fn last_switch(&self, user: UserId) -> Answer<Option<Switch>> {
        ready(Ok(self.plain.lock().unwrap().last_switch(user))).boxed()
    }
}

impl Claims for Reads {
    fn user_status(&self, _: UserId, _: Day) -> Answer<UserStatus> {
        ready(Ok(UserStatus::default())).boxed()
    }

    fn claims_of(&self, _: UserId, _: Day, _: usize) -> Answer<Vec<ClaimKey>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn claims_in(&self, _: Shard, _: Day) -> Answer<Vec<ClaimKey>> {
        ready(Ok(Vec::new())).boxed()
    }
}
