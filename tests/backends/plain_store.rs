//! The hot store as plain maps: no files, no caches. It decides as every store does; backends are held to what it
//! keeps.

use std::collections::{BTreeMap, HashMap, HashSet};

use heartline::model::change::{Action, Change, Decided, Outcome};
use heartline::model::decide::{Decider, Draft, Transitions};
use heartline::model::forgetting::{ContentRow, UserRow};
use heartline::model::ids::{Content, UserId};
use heartline::model::page::{Page, PageRequest};
use heartline::model::record::Record;
use heartline::model::recording::Switch;
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::model::rewards::day::Day;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::transition::Transition;

use crate::backends::plain_user::PlainUser;
use crate::backends::requests::Limits;

#[derive(Clone)]
pub struct PlainStore {
    limits: Limits,
    users: HashMap<UserId, PlainUser>,
    pub outbox: Vec<Claim>,
}

/// What became of a group.
pub struct PlainCommit {
    pub outcomes: Vec<Outcome>,
    pub decided: Vec<Decided>,
    pub transitions: Transitions,
}

impl PlainStore {
    pub fn new(limits: Limits) -> Self {
        PlainStore { limits, users: HashMap::new(), outbox: Vec::new() }
    }

    pub fn reopen(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// A group, of which each change is stored before the next is decided; claims are made as far as `rewards` has
    /// room.
    pub fn commit(&mut self, now: u64, rewards: &Rewarding, changes: &[Change]) -> PlainCommit {
        let horizon = self.limits.horizon(now);
        let mut decider = Decider::new(now, horizon, self.limits.records_per_user, rewards);
        let outcomes = changes.iter().enumerate().map(|(index, change)| {
            let kept = self.users.entry(change.user).or_default();
            let Ok(mut draft) = Draft::new(&*kept);
            let Ok(outcome) = decider.decide(&mut draft, index, change.user, &change.action);
            let drafted = draft.finish();
            self.outbox.extend(drafted.claims.iter().map(|made| made.claim.clone()));
            kept.store(drafted);
            if let Action::Prune { horizon: asked } = change.action {
                let is_dead = |row: &ContentRow| row.clone().prune(&kept.row, horizon.min(asked));
                assert!(!kept.contents.values().any(is_dead), "pruned is pruned");
            }
            outcome
        });
        let outcomes = outcomes.collect();
        let (decided, transitions) = decider.finish();
        PlainCommit { outcomes, decided, transitions }
    }

    /// What the user has asked to forget, and the rows of the contents, none of them empty.
    pub fn kept(&self, user: UserId) -> Option<(&UserRow, &BTreeMap<Content, ContentRow>)> {
        self.users.get(&user).map(|user| (&user.row, &user.contents))
    }

    /// Removes what clears and the retention have left of one content. Returns what becomes of its record.
    pub fn prune(&mut self, user: UserId, content: Content, horizon: u64) -> Option<Transition> {
        let PlainUser { row, contents, .. } = self.users.get_mut(&user)?;
        let kept = contents.get_mut(&content)?;
        let dead = kept.take_dead(row, horizon);
        kept.prune(row, horizon);
        if kept.is_empty() {
            contents.remove(&content);
        }
        dead.map(|(record, cause)| Transition::gone(user, record, cause))
    }

    pub fn claims(&self) -> HashSet<ClaimKey> {
        self.users.values().flat_map(|user| &user.claims).cloned().collect()
    }

    /// In no particular order.
    pub fn claims_of(&self, user: UserId, day: Day) -> Vec<ClaimKey> {
        self.users
            .get(&user)
            .into_iter()
            .flat_map(|user| &user.claims)
            .filter(|claim| claim.day == day)
            .cloned()
            .collect()
    }

    pub fn get(&self, user: UserId, content: Content, now: u64) -> Option<Record> {
        self.live(user, now).into_iter().find(|record| record.content == content)
    }

    pub fn list(&self, user: UserId, request: &PageRequest, now: u64) -> Page {
        request.cut(self.live(user, now).into_iter().filter(|record| request.wants(record)).collect())
    }

    pub fn paused(&self, user: UserId) -> bool {
        self.last_switch(user).is_some_and(|last| last.paused)
    }

    pub fn last_switch(&self, user: UserId) -> Option<Switch> {
        self.users.get(&user)?.row.recording.last()
    }

    fn live(&self, user: UserId, now: u64) -> Vec<Record> {
        let horizon = self.limits.horizon(now);
        let Some(user) = self.users.get(&user) else { return Vec::new() };
        user.contents.values().filter_map(|row| row.live(&user.row, horizon).cloned()).collect()
    }
}
