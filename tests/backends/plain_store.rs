//! The hot store as plain maps: no files, no caches. It decides as every store does; backends are held to what it keeps.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;

use heartline::model::change::{Change, Decided, Outcome};
use heartline::model::decide::{Decider, KeptContent, Transitions, UserState};
use heartline::model::forgetting::{ContentRow, Eviction, UserRow};
use heartline::model::ids::{Content, UserId};
use heartline::model::page::{Page, PageRequest};
use heartline::model::record::Record;
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::model::rewards::day::Day;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::transition::{Cause, Transition};

use crate::requests::Limits;

#[derive(Clone)]
pub struct PlainStore {
    limits: Limits,
    users: HashMap<UserId, PlainUser>,
    claims: HashSet<ClaimKey>,
    pub outbox: Vec<Claim>,
}

/// What became of a group.
pub struct PlainCommit {
    pub outcomes: Vec<Outcome>,
    pub decided: Vec<Decided>,
    pub transitions: Transitions,
}

#[derive(Clone, Default)]
struct PlainUser {
    row: UserRow,
    contents: BTreeMap<Content, ContentRow>,
    /// Of no interest: everything is kept where it is changed.
    changed: bool,
}

impl PlainStore {
    pub fn new(limits: Limits) -> Self {
        PlainStore { limits, users: HashMap::new(), claims: HashSet::new(), outbox: Vec::new() }
    }

    pub fn reopen(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// A group; claims are made as far as `rewards` has room.
    pub fn commit(&mut self, now: u64, rewards: &Rewarding, changes: &[Change]) -> PlainCommit {
        let horizon = self.limits.horizon(now);
        let mut decider = Decider::new(now, horizon, self.limits.records_per_user, rewards);
        let outcomes = changes.iter().enumerate().map(|(place, change)| {
            let kept = self.users.entry(change.user).or_default();
            let (claims, outbox) = (&mut self.claims, &mut self.outbox);
            let mut state = PlainState { user: change.user, kept, claims, outbox };
            let Ok(outcome) = decider.decide(&mut state, place, change.user, &change.action);
            // What gave way is gone.
            state.kept.contents.retain(|_, row| !row.is_empty());
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

    pub fn claims(&self) -> &HashSet<ClaimKey> {
        &self.claims
    }

    /// In no particular order.
    pub fn claims_of(&self, user: UserId, day: Day) -> Vec<ClaimKey> {
        self.claims.iter().filter(|claim| claim.user == user && claim.day == day).cloned().collect()
    }

    pub fn get(&self, user: UserId, content: Content, now: u64) -> Option<Record> {
        self.live(user, now).into_iter().find(|record| record.content == content)
    }

    pub fn list(&self, user: UserId, request: &PageRequest, now: u64) -> Page {
        request.cut(self.live(user, now).into_iter().filter(|record| request.wants(record)).collect())
    }

    pub fn paused(&self, user: UserId) -> bool {
        self.users.get(&user).is_some_and(|user| user.row.recording.paused())
    }

    fn live(&self, user: UserId, now: u64) -> Vec<Record> {
        let horizon = self.limits.horizon(now);
        let Some(user) = self.users.get(&user) else { return Vec::new() };
        user.contents.values().filter_map(|row| row.live(&user.row, horizon).cloned()).collect()
    }
}

/// One user, as the decider sees it.
struct PlainState<'s> {
    user: UserId,
    kept: &'s mut PlainUser,
    claims: &'s mut HashSet<ClaimKey>,
    outbox: &'s mut Vec<Claim>,
}

impl PlainState<'_> {
    fn rows(&self) -> impl Iterator<Item = (&Content, &ContentRow)> {
        self.kept.contents.iter().filter(|(_, row)| !row.is_empty())
    }
}

impl UserState for PlainState<'_> {
    type Error = Infallible;

    fn forgetting(&mut self) -> Result<&UserRow, Infallible> {
        Ok(&self.kept.row)
    }

    fn put_forgetting(&mut self, row: UserRow) -> Result<(), Infallible> {
        self.kept.row = row;
        Ok(())
    }

    fn content(&mut self, content: Content) -> Result<KeptContent<'_>, Infallible> {
        let row = self.kept.contents.entry(content).or_default();
        Ok(KeptContent { forgetting: &self.kept.row, row, changed: &mut self.kept.changed })
    }

    fn newest_record(&mut self, horizon: u64) -> Result<u64, Infallible> {
        let live = self.rows().filter_map(|(_, row)| row.live(&self.kept.row, horizon));
        Ok(live.map(|record| record.at).max().unwrap_or(0))
    }

    /// The row of the new content is there already, when this is asked.
    fn contents(&mut self) -> Result<u32, Infallible> {
        Ok(self.rows().count() as u32 - 1)
    }

    fn put_contents(&mut self, contents: u32) -> Result<(), Infallible> {
        assert_eq!(self.rows().count() as u32, contents, "the decider counts what there is");
        Ok(())
    }

    fn first_to_go(&mut self, except: Content) -> Result<Option<(Eviction, Content)>, Infallible> {
        let others = self.rows().filter(|(content, _)| **content != except);
        Ok(others.map(|(content, row)| (row.eviction(), *content)).min())
    }

    fn goes_sooner(&mut self, _: Content) -> Result<(), Infallible> {
        Ok(())
    }

    fn erase_contents(&mut self, erased: impl FnMut(Record)) -> Result<u64, Infallible> {
        let newest = self.rows().map(|(_, row)| row.newest()).max().unwrap_or(0);
        std::mem::take(&mut self.kept.contents).into_values().filter_map(|row| row.record).for_each(erased);
        Ok(newest)
    }

    fn prune_contents(&mut self, horizon: u64, mut gone: impl FnMut(Record, Cause)) -> Result<bool, Infallible> {
        let PlainUser { row: forgetting, contents, .. } = &mut *self.kept;
        for row in contents.values_mut() {
            row.take_dead(forgetting, horizon).into_iter().for_each(|(record, cause)| gone(record, cause));
            row.prune(forgetting, horizon);
        }
        Ok(false)
    }

    fn is_claimed(&mut self, key: &ClaimKey) -> Result<bool, Infallible> {
        Ok(self.claims.contains(key))
    }

    fn claim(&mut self, claim: Claim) {
        self.claims.insert(claim.key.clone());
        self.outbox.push(claim);
    }

    fn erase_claims(&mut self) -> Result<(), Infallible> {
        self.claims.retain(|claim| claim.user != self.user);
        Ok(())
    }
}
