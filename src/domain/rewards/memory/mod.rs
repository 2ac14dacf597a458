//! Remembers today's claims, so that the store is seldom asked.
//!
//! Claims are marked after a commit only. The memory never decides that a user is the first: it may deny it, and the
//! store's exact keys decide the rest. For rules per user the memory is exact; for rules per content, a bloom filter
//! wrongly denies an unclaimed content with the configured probability at most.
//!
//! Each shard has a lock of its own, one day, and these bounds:
//!
//! | what | at most | memory | when full |
//! |---|---|---|---|
//! | recent users | `rewards.recent_users` | 100 bytes each | the least recently used one goes: one more look-up |
//! | bitmaps of rules per user | `rewards.remembered_claims` | 5 bytes each if ids are dense, 250 if they are random numbers of 64 bits | the store answers for users who are not in them |
//! | filters of rules per content | `expected`, for each rule | for a million 1.7 bytes each at a probability of 0.01, 2.4 at 0.001 ([`Estimate`]) | a filter that is full is dropped, and the store answers |
//!
//! If several gateways share a store, each makes only some of the claims and switches of recording. So only decisions
//! stay true in its memory (except after an erasure, which is announced). It is never certain that a rule is open, and
//! does not know whether recording is paused: the store tells that at the welcome.
//!
//! The settings are for all shards together. Each shard has its even share and some more ([`Shards::share`]), so that a
//! shard with more users than others is not full too early.

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
use model::ids::{Content, UserId};
use model::rewards::calendar::RewardDay;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::rewards::rule::{Per, RuleSet, Rules};
use model::shard::{Shard, Shards};

/// The memory of all shards. May be used by all threads.
pub struct Memory {
    kept: Arc<Kept>,
    lookups: Lookups,
}

/// The remembered claims, and their bounds.
struct Kept {
    rules: Arc<Rules>,
    shards: Shards,
    of_shards: Vec<Mutex<ShardMemory>>,
    /// By the indexes of the rules; `None`: no filter.
    filters: Vec<Option<Estimate>>,
    /// Whether there are rules per user; without them nothing is looked up.
    user_rules: bool,
    /// The bound of one shard.
    claims_max: usize,
}

/// The known decisions of the rules per user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remembered {
    pub decided: RuleSet,
    /// All other rules are known to be open; otherwise only the store knows.
    pub certain: bool,
    /// Whether recording is paused, if it is known.
    pub paused: Option<bool>,
}

/// The reason for a look-up of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupReason {
    Welcome,
    Beat,
}

/// Marks a moment, to detect later switches of recording and erasures.
#[derive(Clone, Copy, Debug)]
pub struct Ticket(u64);

impl Memory {
    /// The memory of the only gateway on its store: empty, and certain of nothing before [`fill`](Self::fill).
    pub fn new(rules: Arc<Rules>, shards: Shards, config: &RewardsConfig, registry: &mut Registry) -> Self {
        Self::build(rules, shards, config, true, registry)
    }

    /// The memory of one of several gateways on a store: empty, and never certain.
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

    /// The known decisions for a user today. A user who is not recent is looked up in the bitmaps, which is counted,
    /// and becomes recent.
    pub fn user_rules(&self, user: UserId, today: &RewardDay, reason: LookupReason) -> Remembered {
        let (remembered, looked_up) = self.kept.shard_of(user).user_rules(user, today.day);
        if looked_up && self.kept.user_rules {
            self.lookups.count(reason);
        }
        remembered
    }

    /// The rules of `rules` that filters know as decided for this user and content; the store knows the others.
    pub fn content_rules(&self, rules: RuleSet, user: UserId, content: Content, day: Day) -> RuleSet {
        match rules.is_empty() {
            true => RuleSet::NONE,
            false => self.kept.shard_of(user).content_rules(rules, user, content, day),
        }
    }

    /// Remembers that the rule at `index` is decided. To be called after the commit, and after each answer of the
    /// store.
    pub fn mark(&self, index: usize, user: UserId, content: Content, day: Day) {
        self.kept.mark(&mut self.kept.shard_of(user), index, user, content, day);
    }

    /// Remembers a committed switch of recording, if the user is recent.
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

    /// Remembers an answer of the store since `ticket`. It is dropped if any switch in the shard was committed in
    /// between, since the read may have missed that switch.
    pub fn learned_paused(&self, user: UserId, paused: bool, ticket: Ticket) {
        self.kept.shard_of(user).learned_paused(user, paused, ticket.0);
    }

    /// Remembers that these rules per user are decided on that day, by an answer of the store since `ticket`. Dropped
    /// like [`learned_paused`](Self::learned_paused): the user may have been erased in between, and would be denied.
    pub fn learned_decided(&self, user: UserId, decided: RuleSet, day: Day, ticket: Ticket) {
        let mut memory = self.kept.shard_of(user);
        if memory.switches() == ticket.0 {
            decided.iter().for_each(|index| memory.mark_user(index, user, day, self.kept.claims_max));
        }
    }

    /// Forgets an erased user with all claims. Bloom filters cannot forget, so they deny what they knew for the rest of
    /// the day.
    pub fn forget(&self, user: UserId) {
        self.kept.shard_of(user).forget(user);
    }

    /// Remembers all claims of one shard and day, the newest of the store, read since `ticket`. Marks made in between
    /// stay. False: a user may have been erased in between, and the store has to be read again.
    pub fn fill(&self, shard: Shard, day: Day, keys: impl IntoIterator<Item = ClaimKey>, ticket: Ticket) -> bool {
        let mut memory = self.kept.lock(shard);
        if memory.switches() != ticket.0 {
            return false;
        }
        for key in keys.into_iter().filter(|key| key.day == day) {
            // Claims of removed rules are skipped.
            if let Some(index) = self.kept.rules.index_of(&key.rule) {
                let content = key.content.unwrap_or(Content { kind: 0, oid: 0 });
                self.kept.mark(&mut memory, index, key.user, content, day);
            }
        }
        memory.filled(day);
        true
    }

    /// The estimates of the filters.
    pub fn estimates(&self) -> Vec<&Estimate> {
        self.kept.filters.iter().flatten().collect()
    }
}

impl Kept {
    fn mark(&self, memory: &mut ShardMemory, index: usize, user: UserId, content: Content, day: Day) {
        match (self.rules.get(index).per, &self.filters[index]) {
            (Per::User, _) => memory.mark_user(index, user, day, self.claims_max),
            (Per::Content, Some(estimate)) => memory.mark_content(index, user, content, day, estimate),
            (Per::Content, None) => {}
        }
    }

    fn shard_of(&self, user: UserId) -> MutexGuard<'_, ShardMemory> {
        self.lock(self.shards.of(user))
    }

    /// A panic under the lock could leave a mark out, which the store's exact keys make up for.
    fn lock(&self, shard: Shard) -> MutexGuard<'_, ShardMemory> {
        self.of_shards[usize::from(shard.0)].lock()
    }

    fn shards(&self) -> impl Iterator<Item = MutexGuard<'_, ShardMemory>> {
        self.shards.all().map(|shard| self.lock(shard))
    }
}

#[cfg(test)]
mod tests;
