//! What is remembered of today's claims, so that the store is seldom asked.
//!
//! It is marked after a commit only and never decides that a user was first: it may say that a user was not, and the
//! store's exact keys answer whatever it does not know. Of the rules per user it is exact; of the others a bloom filter
//! wrongly denies an unclaimed content with at most the configured probability.
//!
//! Each shard has a lock of its own, one day, and these bounds:
//!
//! | what | at most | memory | when full |
//! |---|---|---|---|
//! | recent users | `rewards.recent_users` | 100 bytes each | the least recently used one goes: one look-up more |
//! | bitmaps of rules per user | `rewards.remembered_claims` | 5 bytes each if ids are dense, 250 if they are random numbers of 64 bits | the store answers for users who are not in them |
//! | filters of rules per content | `expected`, for each rule | for a million 1.7 bytes each at a probability of 0.01, 2.4 at 0.001 ([`Estimate`]) | a filter that is full is dropped, and the store answers |
//!
//! One of several gateways on one store does not make all claims, and not all switches of recording: of what it
//! remembers only what is decided stays true (but for an erasure, which is announced to it). It is never certain that a
//! rule is open, and does not know whether recording is paused: the store says so at the welcome.
//!
//! Numbers in the settings are of all shards; each shard has its even share and some more ([`Shards::share`]), so that
//! one that got more users than others is not full before its time.

mod bitmaps;
pub mod estimate;
mod filter;
mod metrics;
mod recent;
mod shard;

use std::num::NonZeroUsize;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use prometheus_client::registry::Registry;

use self::estimate::Estimate;
use self::metrics::{Contents, Lookups};
use self::shard::ShardMemory;
use super::config::RewardsConfig;
use crate::model::ids::{Content, UserId};
use crate::model::rewards::calendar::RewardDay;
use crate::model::rewards::claim::ClaimKey;
use crate::model::rewards::day::Day;
use crate::model::rewards::rule::{Per, RuleSet, Rules};
use crate::model::shard::{Shard, Shards};

/// May be used by all threads.
pub struct Memory {
    kept: Arc<Kept>,
    lookups: Lookups,
}

/// What is kept, and within what bounds.
struct Kept {
    rules: Arc<Rules>,
    shards: Shards,
    of_shards: Vec<Mutex<ShardMemory>>,
    /// By the places of the rules; `None`: no filter.
    filters: Vec<Option<Estimate>>,
    /// Whether there are any; otherwise there is nothing to look up.
    user_rules: bool,
    /// Of one shard.
    claims_max: usize,
}

/// Which rules per user are known to be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remembered {
    pub decided: RuleSet,
    /// All others are known to be open; otherwise only the store knows.
    pub certain: bool,
    /// Whether recording is paused, if it is known.
    pub paused: Option<bool>,
}

/// What the look-up of a user is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupReason {
    Welcome,
    Beat,
}

/// A moment, of which it can be told whether recording was switched since.
#[derive(Clone, Copy, Debug)]
pub struct Ticket(u64);

impl Memory {
    /// Of a gateway that is alone on its store: empty, and certain of nothing before [`fill`](Self::fill).
    pub fn new(rules: Arc<Rules>, shards: Shards, config: &RewardsConfig, registry: &mut Registry) -> Self {
        Self::build(rules, shards, config, true, registry)
    }

    /// Of one gateway among several on one store: empty, and never certain.
    pub fn shared(rules: Arc<Rules>, shards: Shards, config: &RewardsConfig, registry: &mut Registry) -> Self {
        Self::build(rules, shards, config, false, registry)
    }

    fn build(rules: Arc<Rules>, shards: Shards, config: &RewardsConfig, alone: bool, registry: &mut Registry) -> Self {
        let recent = config.recent_users.div_ceil(shards.count().into());
        let recent = NonZeroUsize::new(recent).unwrap_or(NonZeroUsize::MIN);
        let kept = Arc::new(Kept {
            shards,
            of_shards: shards.all().map(|_| Mutex::new(ShardMemory::new(recent, alone))).collect(),
            filters: rules.iter().map(|(_, rule)| Estimate::of(rule, shards, alone)).collect(),
            user_rules: !rules.per(Per::User).is_empty(),
            claims_max: shards.share(config.remembered_claims as u64) as usize,
            rules,
        });
        let lookups = Lookups::new(registry);
        registry.register_collector(Box::new(Contents(kept.clone())));
        Memory { kept, lookups }
    }

    /// What is known of a user today. A user who is not among the recent ones is looked up in the bitmaps, which is
    /// counted, and becomes recent.
    pub fn user_rules(&self, user: UserId, today: &RewardDay, reason: LookupReason) -> Remembered {
        let (remembered, looked_up) = self.kept.shard_of(user).user_rules(user, today.day);
        if looked_up && self.kept.user_rules {
            self.lookups.count(reason);
        }
        remembered
    }

    /// Which of `rules` are decided for this user and content, as far as filters know; the store knows of the others.
    pub fn content_rules(&self, rules: RuleSet, user: UserId, content: Content, day: Day) -> RuleSet {
        match rules.is_empty() {
            true => RuleSet::NONE,
            false => self.kept.shard_of(user).content_rules(rules, user, content, day),
        }
    }

    /// The rule at `place` is decided. To be called after the commit, and whenever the store has said so.
    pub fn mark(&self, place: usize, user: UserId, content: Content, day: Day) {
        self.kept.mark(&mut self.kept.shard_of(user), place, user, content, day);
    }

    /// Recording was switched, and that is committed: what a recent user is known for follows.
    pub fn switched(&self, user: UserId, paused: bool) {
        self.kept.shard_of(user).switched(user, paused);
    }

    /// To be taken before the store is read for [`learned_paused`](Self::learned_paused) or
    /// [`learned_decided`](Self::learned_decided).
    pub fn ticket(&self, user: UserId) -> Ticket {
        self.ticket_of(self.kept.shards.of(user))
    }

    /// To be taken before the store is read for [`fill`](Self::fill).
    pub fn ticket_of(&self, shard: Shard) -> Ticket {
        Ticket(self.kept.lock(shard).switches())
    }

    /// What the store has said since `ticket`. Loses against any switch in the shard that was committed meanwhile,
    /// which the read may have missed.
    pub fn learned_paused(&self, user: UserId, paused: bool, ticket: Ticket) {
        self.kept.shard_of(user).learned_paused(user, paused, ticket.0);
    }

    /// These rules per user are decided on that day, as the store has said since `ticket`. Loses like
    /// [`learned_paused`](Self::learned_paused): the user may have been erased meanwhile, and would be denied.
    pub fn learned_decided(&self, user: UserId, decided: RuleSet, day: Day, ticket: Ticket) {
        let mut memory = self.kept.shard_of(user);
        if memory.switches() == ticket.0 {
            decided.iter().for_each(|place| memory.mark_user(place, user, day, self.kept.claims_max));
        }
    }

    /// The user was erased, claims and all. The bloom filters cannot forget, and deny what they knew for the rest of
    /// the day.
    pub fn forget(&self, user: UserId) {
        self.kept.shard_of(user).forget(user);
    }

    /// All that the store knows of one shard and day, the newest it has, and has said since `ticket`. Marks made
    /// meanwhile stay. False: a user may have been erased meanwhile, and the store has to be asked again.
    pub fn fill(&self, shard: Shard, day: Day, keys: impl IntoIterator<Item = ClaimKey>, ticket: Ticket) -> bool {
        let mut memory = self.kept.lock(shard);
        if memory.switches() != ticket.0 {
            return false;
        }
        for key in keys.into_iter().filter(|key| key.day == day) {
            // Of rules that were taken out nothing is remembered.
            if let Some(place) = self.kept.rules.place(&key.rule) {
                let content = key.content.unwrap_or(Content { kind: 0, oid: 0 });
                self.kept.mark(&mut memory, place, key.user, content, day);
            }
        }
        memory.filled(day);
        true
    }

    /// What the filters will need.
    pub fn estimates(&self) -> Vec<&Estimate> {
        self.kept.filters.iter().flatten().collect()
    }
}

impl Kept {
    fn mark(&self, memory: &mut ShardMemory, place: usize, user: UserId, content: Content, day: Day) {
        match (self.rules.get(place).per, &self.filters[place]) {
            (Per::User, _) => memory.mark_user(place, user, day, self.claims_max),
            (Per::Content, Some(estimate)) => memory.mark_content(place, user, content, day, estimate),
            (Per::Content, None) => {}
        }
    }

    fn shard_of(&self, user: UserId) -> MutexGuard<'_, ShardMemory> {
        self.lock(self.shards.of(user))
    }

    /// A panic under the lock could leave a mark out, and the store's exact keys make up for it.
    fn lock(&self, shard: Shard) -> MutexGuard<'_, ShardMemory> {
        self.of_shards[usize::from(shard.0)].lock()
    }

    fn shards(&self) -> impl Iterator<Item = MutexGuard<'_, ShardMemory>> {
        self.shards.all().map(|shard| self.lock(shard))
    }
}

#[cfg(test)]
mod tests;
