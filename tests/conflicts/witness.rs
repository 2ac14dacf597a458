//! Stands between a committer and its store, and behind it as its listener: writes down what was asked, answered and
//! told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::future::BoxFuture;
use heartline::domain::commit_listener::{CommitListener, CommittedGroup};
use heartline::model::change::{Change, Decided, Outcome};
use heartline::model::decide::Transitions;
use heartline::model::ids::{Content, UserId};
use heartline::model::page::{Page, PageRequest};
use heartline::model::recording::Switch;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::rows_read::RowsRead;
use heartline::model::transition::Transition;
use heartline::storage::hot_store::{Answer, Committed, Found, Group, Positions, StoreError};
use heartline::storage_redis::hot_store::RedisStore;

/// A group, as its committer has seen it.
pub struct CommittedOnce {
    pub number: u64,
    /// The moments of all attempts.
    pub nows: Vec<u64>,
    pub changes: Vec<Change>,
    pub rewards: Rewarding,
    pub outcomes: Vec<Outcome>,
    pub decided: Vec<Decided>,
    pub transitions: Transitions,
    answers: usize,
}

pub struct Witness {
    store: Arc<RedisStore>,
    groups: Mutex<Vec<CommittedOnce>>,
    heard: Mutex<Vec<Transition>>,
    under_way: AtomicUsize,
    under_way_max: AtomicUsize,
}

impl Witness {
    pub fn new(store: Arc<RedisStore>) -> Self {
        let (groups, heard, [under_way, under_way_max]) = Default::default();
        Witness { store, groups, heard, under_way, under_way_max }
    }

    /// How many groups were under way at one time.
    pub fn side_by_side(&self) -> usize {
        self.under_way_max.load(Ordering::Relaxed)
    }

    /// All groups in the order in which they were begun. Each was answered once, and what was told of all is what the
    /// listener has heard.
    pub fn groups(&self) -> Vec<CommittedOnce> {
        let mut groups = std::mem::take(&mut *self.lock());
        groups.sort_by_key(|group| group.number);
        assert!(groups.iter().all(|group| group.answers == 1), "a group was not answered once");
        let told = groups.iter().flat_map(|group| group.transitions.iter().map(|(_, transition)| transition));
        let heard = self.heard.lock().unwrap();
        assert!(told.eq(heard.iter()), "the listener has heard something else than what was committed");
        groups
    }

    fn lock(&self) -> MutexGuard<'_, Vec<CommittedOnce>> {
        self.groups.lock().unwrap()
    }

    fn begins(&self, group: &Group) {
        let mut groups = self.lock();
        if let Some(again) = groups.iter_mut().rev().find(|known| known.number == group.number) {
            again.nows.push(group.now);
            return;
        }
        let Group { number, now, changes, rewards, .. } = group;
        assert!(rewards.claims_max > changes.len() as u64, "the outbox must not be what decides");
        groups.push(CommittedOnce {
            number: *number,
            nows: vec![*now],
            changes: changes.clone(),
            rewards: rewards.clone(),
            outcomes: Vec::new(),
            decided: Vec::new(),
            transitions: Vec::new(),
            answers: 0,
        });
    }

    fn answered(&self, number: u64, committed: &Committed) {
        let mut groups = self.lock();
        let group = groups.iter_mut().rev().find(|known| known.number == number).expect("it was begun");
        group.outcomes.clone_from(&committed.outcomes);
        group.decided.clone_from(&committed.decided);
        group.transitions.clone_from(&committed.transitions);
        group.answers += 1;
    }
}

impl CommitListener for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }

    fn committed(&self, group: &CommittedGroup) {
        let of_changes = group.changes.iter().flat_map(|change| group.transitions_of(change));
        self.heard.lock().unwrap().extend(of_changes.cloned());
    }
}

impl Positions for Witness {
    fn commit<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Committed, StoreError>> {
        self.begins(group);
        Box::pin(async move {
            self.under_way_max.fetch_max(self.under_way.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            let committed = self.store.commit(group).await;
            self.under_way.fetch_sub(1, Ordering::Relaxed);
            let committed = committed?;
            self.answered(group.number, &committed);
            Ok(committed)
        })
    }

    fn groups_max(&self) -> usize {
        self.store.groups_max()
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
