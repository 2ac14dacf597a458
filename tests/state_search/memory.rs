//! A store in memory.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use heartline::model::forgetting::Eviction;
use heartline::model::ids::{Content, UserId};
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::sums::SumKey;
use heartline::model::version::Version;
use heartline::storage::hot_store::StoreError;
use heartline::storage::hot_store::cold_filter::ColdFilter;
use heartline::storage::hot_store::optimistic::{
    Applied, Apply, Claimable, Dead, Head, Load, Loaded, Marked, Need, StoredRow, UserStore, Write,
};

use crate::state_search::backing::{Backing, OnList};

pub struct Memory {
    users: Mutex<HashMap<UserId, User>>,
    /// Entries of one user: each has an outbox of their own.
    outbox_max: usize,
}

#[derive(Default)]
struct User {
    head: Option<Box<Head>>,
    rows: BTreeMap<Content, StoredRow>,
    timeline: BTreeMap<Content, Eviction>,
    claims: HashSet<ClaimKey>,
    outbox: Vec<Claim>,
    views: BTreeMap<SumKey, i64>,
    look: Option<u64>,
    due: Option<u64>,
    /// `None`: all contents.
    marks: BTreeMap<Option<Content>, Version>,
    cold_filter: Option<Arc<[u8]>>,
}

impl Memory {
    pub fn new(outbox_max: usize) -> Self {
        Memory { users: Mutex::default(), outbox_max }
    }

    fn users(&self) -> MutexGuard<'_, HashMap<UserId, User>> {
        self.users.lock().unwrap()
    }
}

impl UserStore for Memory {
    async fn load(&self, loads: &[Load]) -> Result<Vec<Loaded>, StoreError> {
        let mut users = self.users();
        let loads = loads.iter().map(|load| users.entry(load.user).or_default().load(&load.needs));
        Ok(loads.collect())
    }

    async fn apply(&self, applies: &[&Apply]) -> Result<Vec<Applied>, StoreError> {
        let mut users = self.users();
        let applies = applies.iter().map(|apply| users.entry(apply.user).or_default().apply(apply, self.outbox_max));
        Ok(applies.collect())
    }

    async fn put_off(&self, off: &[(UserId, Version)], due: u64) -> Result<(), StoreError> {
        let mut users = self.users();
        for (user, version) in off {
            let user = users.entry(*user).or_default();
            user.marks.retain(|_, marked| *marked > *version);
            user.due = user.due.map(|_| due);
        }
        Ok(())
    }
}

impl Backing for Memory {
    async fn begin_day(&self, _: &Rewarding) {}

    async fn look(&self, user: UserId) -> Option<u64> {
        self.users().get(&user).and_then(|user| user.look)
    }

    async fn on_list(&self, user: UserId) -> OnList {
        let users = self.users();
        let Some(User { due, marks, .. }) = users.get(&user) else { return OnList::default() };
        let contents = marks.keys().copied().flatten().collect();
        OnList { due: *due, marks: contents, all: marks.contains_key(&None) }
    }

    async fn rows(&self, user: UserId) -> usize {
        self.users().get(&user).map_or(0, |user| user.rows.len())
    }

    async fn outbox(&self, user: UserId) -> Vec<Claim> {
        self.users().get(&user).map_or_else(Vec::new, |user| user.outbox.clone())
    }

    async fn views(&self, user: UserId) -> BTreeMap<SumKey, i64> {
        self.users().get(&user).map_or_else(BTreeMap::new, |user| user.views.clone())
    }

    async fn published(&self, claim: &Claim) {
        self.users().entry(claim.key.user).or_default().outbox.retain(|entry| entry != claim);
    }
}

impl User {
    fn load(&self, needs: &[Need]) -> Loaded {
        let mut loaded = Loaded::default();
        for need in needs {
            match need {
                Need::Head => loaded.head = Some(self.head.clone()),
                Need::Row(content) => loaded.rows.push((*content, self.rows.get(content).cloned())),
                Need::ColdFilter => {
                    let bytes = self.cold_filter.as_ref().map(|bytes| bytes.to_vec());
                    loaded.cold_filter = Some(bytes.map(|bytes| ColdFilter::from_bytes(bytes).unwrap()));
                }
                Need::Contents => loaded.contents = Some(self.timeline.len() as u32),
                Need::First(count) | Need::Oldest(count) => {
                    let mut oldest = self.by_age(|_| true);
                    oldest.truncate(*count);
                    if matches!(need, Need::Oldest(_)) {
                        self.name(&mut loaded, oldest.iter().map(|(_, content)| *content));
                    }
                    loaded.oldest = Some((oldest, self.timeline.len() < *count));
                }
                Need::Newest(count) => {
                    let newest = self.by_age(|eviction| eviction.has_record).into_iter().rev();
                    let newest: Vec<_> = newest.map(|(eviction, content)| (eviction.newest, content)).collect();
                    let all = newest.len() < *count;
                    loaded.newest = Some((newest.into_iter().take(*count).collect(), all));
                }
                Need::All => {
                    self.name(&mut loaded, self.timeline.keys().copied());
                    loaded.all = true;
                }
                Need::Claim(key) => {
                    let claimed = self.claims.contains(key);
                    loaded.claims.push(Claimable { key: key.clone(), claimed, exact: true, filter_room: 0 });
                }
                Need::ClaimRules => {
                    let mut rules: Vec<_> = self.claims.iter().map(|key| (key.day, key.rule.clone())).collect();
                    rules.sort_unstable();
                    rules.dedup();
                    loaded.claim_rules = Some(rules);
                }
                Need::Marked => {
                    let contents: Vec<Content> = self.marks.keys().copied().flatten().collect();
                    self.name(&mut loaded, contents.iter().copied());
                    loaded.marked = Some(Marked { contents, all: self.marks.contains_key(&None) });
                }
                Need::Dead(records, tombstones) => {
                    let is_dead = |known: &Eviction| match known.has_record {
                        true => known.newest <= *records,
                        false => known.newest < *tombstones,
                    };
                    let contents: Vec<_> = self.by_age(is_dead).into_iter().map(|(_, content)| content).collect();
                    self.name(&mut loaded, contents.iter().copied());
                    let stays = |has_record| {
                        let stays = self.by_age(|known| known.has_record == has_record && !is_dead(known));
                        stays.first().map(|(eviction, _)| eviction.newest)
                    };
                    let next = [stays(true), stays(false)];
                    loaded.dead = Some(Dead { asked: (*records, *tombstones), contents, more: false, next });
                }
            }
        }
        loaded
    }

    fn by_age(&self, wanted: impl Fn(&Eviction) -> bool) -> Vec<(Eviction, Content)> {
        let places = self.timeline.iter().filter(|(_, known)| wanted(known));
        let mut places: Vec<_> = places.map(|(content, known)| (*known, *content)).collect();
        places.sort_unstable();
        places
    }

    fn name(&self, loaded: &mut Loaded, contents: impl Iterator<Item = Content>) {
        loaded.rows.extend(contents.map(|content| (content, self.rows.get(&content).cloned())));
    }

    fn apply(&mut self, apply: &Apply, outbox_max: usize) -> Applied {
        if self.head.as_ref().map(|head| head.token) != apply.expected_token() {
            return Applied::Refused(self.head.clone());
        }
        let claims = apply.writes.iter().filter(|write| matches!(write, Write::Claim { .. })).count();
        if claims > 0 && self.outbox.len() + claims > outbox_max {
            return Applied::NoRoom;
        }
        apply.writes.iter().for_each(|write| self.write(write));
        if apply.head.is_some() {
            self.head = apply.head.clone();
        }
        Applied::Done { elsewhere: false }
    }

    fn write(&mut self, write: &Write) {
        match write {
            Write::Put { content, row } => {
                self.timeline.insert(*content, row.row.eviction());
                self.rows.insert(*content, row.clone());
            }
            Write::Enter { content, at, stored } => {
                self.timeline.insert(*content, Eviction { has_record: true, newest: *at });
                if *stored {
                    self.rows.remove(content);
                }
            }
            Write::Remove { content } => {
                self.timeline.remove(content);
                self.rows.remove(content);
            }
            Write::RemoveAll => {
                self.timeline.clear();
                self.rows.clear();
            }
            Write::Count { .. } => unreachable!("no counters are defined"),
            Write::Notice { .. } => unreachable!("nothing is followed"),
            Write::Claim { claim, kept, .. } => {
                if *kept {
                    self.claims.insert(claim.key.clone());
                }
                self.outbox.push(claim.clone());
            }
            Write::View { key, kept, .. } => {
                let content = key.content.unwrap();
                if *kept {
                    self.claims.insert(key.clone());
                }
                *self.views.entry(SumKey::Views(content)).or_default() += 1;
                *self.views.entry(SumKey::ViewsOn(content, key.day)).or_default() += 1;
            }
            Write::RemoveClaims { rules } => {
                self.claims.retain(|key| !rules.contains(&(key.day, key.rule.clone())));
            }
            Write::LookAt { at, exact: true } => self.look = Some(*at),
            Write::LookAt { at, exact: false } => self.look = Some(self.look.map_or(*at, |look| look.min(*at))),
            Write::List { due } => self.due = Some(self.due.map_or(*due, |known| known.min(*due))),
            Write::Mark { content, version } => drop(self.marks.insert(*content, *version)),
            Write::ColdFilter { filter } => self.cold_filter.clone_from(filter),
            Write::Unlist => {
                self.due = None;
                self.marks.clear();
            }
            Write::RemoveUser => {
                self.cold_filter = None;
                self.head = None;
                self.look = None;
                self.due = None;
                self.marks.clear();
                self.timeline.clear();
                self.rows.clear();
            }
        }
    }
}
