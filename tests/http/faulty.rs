//! A store that fails when it is told to, over one that does not.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::{BoxFuture, FutureExt, ready};
use heartline::model::ids::{Content, UserId};
use heartline::model::page::{Page, PageRequest, UsersRequest};
use heartline::model::recording::Switch;
use heartline::model::rewards::claim::ClaimKey;
use heartline::model::rewards::day::Day;
use heartline::model::rows_read::RowsRead;
use heartline::model::shard::Shard;
use heartline::model::walk::{WalkRequest, Walked};
use heartline::storage::hot_store::{
    Answer, Claims, Committed, Found, Group, Positions, StoreClock, StoreError, StoredUsers, UserStatus,
};

/// What becomes of commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    #[default]
    None,
    /// Not done; the error says only that the store is away.
    Away,
    /// Done, and yet it is said to be away: the outcome is unknown.
    Unsure,
    /// Not done, and never again.
    Failed,
}

#[derive(Default)]
pub struct Faulty<S> {
    store: S,
    fault: Mutex<Fault>,
    refused: AtomicUsize,
}

impl<S> Faulty<S> {
    pub fn over(store: S) -> Self {
        Faulty { store, fault: Mutex::default(), refused: AtomicUsize::default() }
    }

    pub fn inner(&self) -> &S {
        &self.store
    }

    pub fn turn(&self, fault: Fault) {
        *self.fault.lock().expect("no panic") = fault;
    }

    /// Commits that were answered with an error.
    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    fn refuse<T>(&self, error: fn(String) -> StoreError) -> Result<T, StoreError> {
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(error("as the test wants it".to_owned()))
    }
}

impl<S: Positions> Positions for Faulty<S> {
    fn commit<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Committed, StoreError>> {
        let fault = *self.fault.lock().expect("no panic");
        match fault {
            Fault::None => self.store.commit(group),
            Fault::Away => ready(self.refuse(StoreError::Away)).boxed(),
            Fault::Failed => ready(self.refuse(StoreError::Failed)).boxed(),
            Fault::Unsure => async move {
                self.store.commit(group).await?;
                self.refuse(StoreError::Away)
            }
            .boxed(),
        }
    }

    fn get(&self, user: UserId, contents: Vec<Content>, now: u64) -> Answer<Found> {
        self.store.get(user, contents, now)
    }

    fn list(&self, user: UserId, request: PageRequest, now: u64, rows: RowsRead) -> Answer<Page> {
        self.store.list(user, request, now, rows)
    }

    fn last_switch(&self, user: UserId) -> Answer<Option<Switch>> {
        self.store.last_switch(user)
    }
}

impl<S: Claims> Claims for Faulty<S> {
    fn user_status(&self, user: UserId, day: Day) -> Answer<UserStatus> {
        self.store.user_status(user, day)
    }

    fn claims_of(&self, user: UserId, day: Day, limit: usize) -> Answer<Vec<ClaimKey>> {
        self.store.claims_of(user, day, limit)
    }

    fn claims_in(&self, shard: Shard, day: Day) -> Answer<Vec<ClaimKey>> {
        self.store.claims_in(shard, day)
    }
}

impl<S: StoredUsers> StoredUsers for Faulty<S> {
    fn users(&self, request: UsersRequest, now: u64) -> Answer<Vec<UserId>> {
        self.store.users(request, now)
    }

    fn walk(&self, user: UserId, request: WalkRequest, now: u64) -> Answer<Walked> {
        self.store.walk(user, request, now)
    }
}

impl<S: StoreClock> StoreClock for Faulty<S> {}
