//! The hot store as plain maps: no files, no caches, nothing clever. Backends are held to it.

use std::collections::{BTreeMap, HashMap, HashSet};

use heartline::model::beat::Beat;
use heartline::model::change::{Action, Change, Decided, Outcome};
use heartline::model::forgetting::{ContentRow, UserRow};
use heartline::model::ids::{Content, UserId};
use heartline::model::moment::Moment;
use heartline::model::page::{Page, PageRequest};
use heartline::model::record::Record;
use heartline::model::recording::Switch;
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::model::rewards::day::Day;
use heartline::model::rewards::rule::Per;
use heartline::model::rule::{Reason, Verdict, decide};
use heartline::storage::hot_store::Rewarding;

use crate::requests::Limits;

pub struct PlainStore {
    limits: Limits,
    users: HashMap<UserId, PlainUser>,
    claims: HashSet<ClaimKey>,
    pub outbox: Vec<Claim>,
}

#[derive(Default)]
struct PlainUser {
    row: UserRow,
    contents: BTreeMap<Content, ContentRow>,
}

impl PlainStore {
    pub fn new(limits: Limits) -> Self {
        PlainStore { limits, users: HashMap::new(), claims: HashSet::new(), outbox: Vec::new() }
    }

    pub fn reopen(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// A group; claims are made as far as `rewards` has room.
    pub fn commit(&mut self, now: u64, rewards: &Rewarding, changes: &[Change]) -> (Vec<Outcome>, Vec<Decided>) {
        let (mut outcomes, mut decided) = (Vec::new(), Vec::new());
        let room = self.outbox.len() + rewards.claims_max as usize;
        for (place, change) in changes.iter().enumerate() {
            let outcome = self.apply(now, rewards.today.day, change);
            if let (Outcome::Beat(Verdict::Written { after, .. }), Action::Beat { beat, asks, .. }) =
                (&outcome, &change.action)
            {
                for rule in asks.and(rewards.today.rules).iter() {
                    let first = self.claim(now, rewards, rule, change.user, beat, after, room);
                    decided.extend(first.map(|first| Decided { change: place, rule, first }));
                }
            }
            if matches!(change.action, Action::Erase) {
                self.claims.retain(|claim| claim.user != change.user);
            }
            outcomes.push(outcome);
        }
        (outcomes, decided)
    }

    #[expect(clippy::too_many_arguments, reason = "it is the rule, spelled out")]
    fn claim(
        &mut self,
        now: u64,
        rewards: &Rewarding,
        rule: usize,
        user: UserId,
        beat: &Beat,
        after: &Record,
        room: usize,
    ) -> Option<bool> {
        let rule = rewards.rules.get(rule);
        let played = beat.watched.saturating_sub(after.credit.base).min(now.saturating_sub(after.credit.since));
        let fresh = now.saturating_sub(beat.at) <= 60_000;
        let of_kind = rule.kinds.is_empty() || rule.kinds.contains(&beat.content.kind);
        if !fresh || !of_kind || u128::from(played) < rule.watched.as_millis() {
            return None;
        }
        let content = (rule.per == Per::Content).then_some(beat.content);
        let key = ClaimKey { rule: rule.id.clone(), day: rewards.today.day, user, content };
        if self.claims.contains(&key) {
            return Some(false);
        }
        if self.outbox.len() >= room {
            return None;
        }
        let claim = Claim {
            key: key.clone(),
            content: beat.content,
            session: beat.session,
            device: after.device.clone(),
            watched: beat.watched,
            claimed_at: now,
            zone: rewards.today.zone.clone(),
        };
        self.claims.insert(key);
        self.outbox.push(claim);
        Some(true)
    }

    /// In no particular order.
    pub fn claims_of(&self, user: UserId, day: Day) -> Vec<ClaimKey> {
        self.claims.iter().filter(|claim| claim.user == user && claim.day == day).cloned().collect()
    }

    pub fn apply(&mut self, now: u64, day: Day, change: &Change) -> Outcome {
        let horizon = now.saturating_sub(self.limits.retention_ms);
        let moment = Moment { now, horizon, day };
        let cap = self.limits.records_per_user as usize;
        let user = self.users.entry(change.user).or_default();
        match &change.action {
            Action::Beat { beat, device, .. } => {
                let mut row = user.contents.get(&beat.content).cloned().unwrap_or_default();
                let verdict = decide(&user.row, &mut row, beat, device, &moment);
                if matches!(verdict, Verdict::Written { .. }) && !user.put(beat.content, row, cap) {
                    return Outcome::Beat(Verdict::Rejected { reason: Reason::Superseded, record: None });
                }
                Outcome::Beat(verdict)
            }
            Action::Delete { contents, at } => {
                let concerned = |content: &Content| contents.contains(content);
                let Some(at) = at.resolve::<()>(now, || Ok(user.newest(concerned, horizon))).unwrap() else {
                    return Outcome::Ahead;
                };
                let mut moved = Vec::new();
                for content in contents {
                    let mut row = user.contents.get(content).cloned().unwrap_or_default();
                    if row.delete(at) {
                        moved.push(*content);
                        if !user.put(*content, row, cap) {
                            user.row.floor = user.row.floor.max(at);
                        }
                    }
                }
                Outcome::Deleted { moved, at }
            }
            Action::Clear { at } => match at.resolve::<()>(now, || Ok(user.newest(|_| true, horizon))).unwrap() {
                Some(at) => Outcome::Cleared { moved: user.row.clear(at), at },
                None => Outcome::Ahead,
            },
            Action::Erase => {
                let resumed = user.row.recording.paused();
                let newest = user.contents.values().map(ContentRow::newest).max().unwrap_or(0);
                user.contents.clear();
                user.row.erase(now.max(newest));
                Outcome::Erased { at: user.row.watermark, resumed }
            }
            Action::Recording { paused, at } => {
                match at.resolve::<()>(now, || Ok(user.newest(|_| true, horizon))).unwrap() {
                    Some(at) => {
                        let moved = user.row.recording.switch(Switch { at, paused: *paused }, horizon);
                        Outcome::Recording { moved, paused: user.row.recording.paused() }
                    }
                    None => Outcome::Ahead,
                }
            }
        }
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
        let horizon = now.saturating_sub(self.limits.retention_ms);
        let Some(user) = self.users.get(&user) else { return Vec::new() };
        user.contents.values().filter_map(|row| row.live(&user.row, horizon).cloned()).collect()
    }
}

impl PlainUser {
    /// False: at the cap, and not newer than anything that is kept.
    fn put(&mut self, content: Content, row: ContentRow, cap: usize) -> bool {
        let new = !self.contents.contains_key(&content);
        // Two at a time while there are too many because the cap was lowered.
        for evicted in 0..2 {
            if !new || self.contents.len() < cap {
                break;
            }
            let (oldest, victim) = self.contents.iter().map(|(content, row)| (row.newest(), *content)).min().unwrap();
            if row.newest() <= oldest {
                if evicted == 0 {
                    return false;
                }
                break;
            }
            self.contents.remove(&victim);
            self.row.floor = self.row.floor.max(oldest);
        }
        self.contents.insert(content, row);
        true
    }

    fn newest(&self, concerned: impl Fn(&Content) -> bool, horizon: u64) -> u64 {
        let rows = self.contents.iter().filter(|(content, _)| concerned(content));
        rows.filter_map(|(_, row)| row.live(&self.row, horizon)).map(|record| record.at).max().unwrap_or(0)
    }
}
