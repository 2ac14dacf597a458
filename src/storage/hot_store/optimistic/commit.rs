//! Commits groups to a store that other gateways write to, too.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::busy::{Before, Busy, Stage, wait_for};
use super::heads::Heads;
use super::limits::Limits;
use super::metrics::Metrics;
use super::noticing::NoticeTerms;
use super::round::{Fate, Round, users_of};
use super::token::TokenSource;
use super::{Head, Load, Loaded, UserStore};
use crate::hot_store::{Committed, Group, StoreError};
use crate::notices::UrgentRate;
use model::counters::Generations;
use model::ids::UserId;
use model::rewards::claim::Claim;

/// Decides groups and applies them. Cheap to clone.
pub struct Optimistic<S> {
    pub(super) shared: Arc<Shared<S>>,
}

pub(super) struct Shared<S> {
    pub store: S,
    pub limits: Limits,
    pub tokens: TokenSource,
    metrics: Metrics,
    users: Mutex<Users>,
    /// The rate of notices that are due at once.
    rate: Mutex<UrgentRate>,
}

/// The recent users.
struct Users {
    heads: Heads,
    busy: Busy,
    /// Groups of unknown outcome, by number. They are found here when they are committed again.
    unknown: HashMap<u64, Round>,
}

impl<S> Clone for Optimistic<S> {
    fn clone(&self) -> Self {
        Optimistic { shared: self.shared.clone() }
    }
}

impl<S: UserStore> Optimistic<S> {
    /// `users_max`: the number of cached heads.
    pub fn new(store: S, limits: Limits, tokens: TokenSource, users_max: NonZeroUsize) -> Self {
        let users = Users { heads: Heads::new(users_max), busy: Busy::default(), unknown: HashMap::new() };
        let (users, metrics) = (Mutex::new(users), Metrics::default());
        Optimistic { shared: Arc::new(Shared { store, limits, tokens, metrics, users, rate: Mutex::default() }) }
    }

    pub fn store(&self) -> &S {
        &self.shared.store
    }

    /// Caches a head that was just read, so that the next change of the user need not read it. An outdated head does no
    /// harm, since every write compares the token.
    pub fn learn(&self, user: UserId, head: Head) {
        self.shared.users().heads.learn(user, Box::new(head));
    }

    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Commits the group. Also returns the claims that were made.
    ///
    /// # Errors
    /// After an error the outcome is unknown. Commit the same group again, before any group that came after it.
    pub async fn commit(&self, group: &Group) -> Result<(Committed, Vec<Claim>), StoreError> {
        let shared = &self.shared;
        let mut in_flight = InFlightCommit { shared, round: Some(shared.enter(group)) };
        let round = in_flight.round.as_mut().expect("it has just been put there");
        let result = shared.run(round, group).await;
        let round = in_flight.round.take().expect("nothing takes it out before");
        if let Err(error) = result {
            let mut users = shared.users();
            round.turn.send_replace(Stage::Unknown);
            users.unknown.insert(group.number, round);
            return Err(error);
        }
        Ok(shared.leave(round, group))
    }
}

impl<S: UserStore> Shared<S> {
    /// The group of unknown outcome with this number, or a new group.
    fn enter(&self, group: &Group) -> Round {
        let mut users = self.users();
        if let Some(round) = users.unknown.remove(&group.number) {
            round.turn.send_replace(Stage::UnderWay);
            return round;
        }
        let of_group = users_of(group);
        let (turn, before) = users.busy.enter(of_group.iter().map(|(user, _)| *user));
        Round::new(group, of_group, turn, before)
    }

    async fn run(&self, round: &mut Round, group: &Group) -> Result<(), StoreError> {
        let without_rewards;
        let group = if self.store.begin(&group.rewards).await? {
            group
        } else {
            without_rewards = group.without_rewards();
            &without_rewards
        };
        wait_for(&round.before).await?;
        round.before.clear();
        self.look_up(round);
        loop {
            loop {
                let generations = self.generations(round).await?;
                let notices = NoticeTerms { followed: self.store.followed(), rate: &self.rate };
                let loads = round.decide(group, &self.limits, &self.tokens, &generations, notices);
                if loads.is_empty() {
                    match round.has_room(&group.rewards) {
                        true => break,
                        false => continue,
                    }
                }
                let loaded = self.load(&loads).await?;
                round.loaded(&loads, loaded);
            }
            if self.apply(round).await? {
                return Ok(());
            }
        }
    }

    /// The generations of counters, none older than what a head of the round belongs to.
    async fn generations(&self, round: &Round) -> Result<Arc<Generations>, StoreError> {
        let (known, newest) = (self.store.generations(), round.newest_generation());
        if newest <= known.newest() {
            return Ok(known);
        }
        self.store.read_generations().await?;
        let known = self.store.generations();
        match newest <= known.newest() {
            true => Ok(known),
            false => Err(StoreError::Away(format!("generation {newest} of the counters is not there yet"))),
        }
    }

    /// Takes the cached heads of users that are not decided yet.
    fn look_up(&self, round: &mut Round) {
        let (mut hits, mut misses) = (0, 0);
        {
            let mut users = self.users();
            for user in round.users.iter_mut().filter(|user| user.plan.is_none()) {
                match users.heads.take(user.user) {
                    Some(remembered) => {
                        hits += 1;
                        user.knows(remembered);
                    }
                    None => misses += 1,
                }
            }
        }
        self.metrics.hits.inc_by(hits);
        self.metrics.misses.inc_by(misses);
    }

    async fn load(&self, loads: &[Load]) -> Result<Vec<Loaded>, StoreError> {
        let loaded = self.store.load(loads).await?;
        let rows = loaded.iter().flat_map(|loaded| &loaded.rows).filter(|(_, row)| row.is_some()).count();
        self.metrics.rows_loaded.inc_by(rows as u64);
        Ok(loaded)
    }

    /// Applies the plans. True: all are done.
    async fn apply(&self, round: &mut Round) -> Result<bool, StoreError> {
        let open = |round: &Round| -> Vec<usize> {
            let users = round.users.iter().enumerate();
            users.filter(|(_, user)| !user.done).map(|(index, _)| index).collect()
        };
        let indexes = open(round);
        let plans = indexes.iter().filter_map(|index| round.users[*index].plan.as_ref());
        let applies: Vec<_> = plans.map(|plan| &plan.apply).collect();
        let answers = self.store.apply(&applies).await?;
        let (mut conflicts, mut found) = (0, 0);
        for (index, applied) in indexes.into_iter().zip(answers) {
            match round.applied(index, applied) {
                Fate::Conflict => conflicts += 1,
                Fate::Found => found += 1,
                Fate::Other => {}
            }
        }
        self.metrics.conflicts.inc_by(conflicts);
        self.metrics.repeats_found.inc_by(found);
        Ok(open(round).is_empty())
    }

    /// Caches the heads, and lets the groups after it go on.
    fn leave(&self, mut round: Round, group: &Group) -> (Committed, Vec<Claim>) {
        let mut users = self.users();
        let of_group: Vec<UserId> = round.users.iter().map(|user| user.user).collect();
        for (user, remembered) in round.users.iter_mut().filter_map(|user| user.remembered()) {
            users.heads.put(user, remembered);
        }
        users.busy.leave(&round.turn, of_group.into_iter(), Before::new());
        drop(users);
        round.committed(group)
    }

    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock()
    }
}

/// A running commit. A caller that drops it never learns its outcome: the next group of these users reads their heads
/// again.
struct InFlightCommit<'s, S: UserStore> {
    shared: &'s Shared<S>,
    round: Option<Round>,
}

impl<S: UserStore> Drop for InFlightCommit<'_, S> {
    fn drop(&mut self) {
        let Some(round) = &mut self.round else { return };
        let before = std::mem::take(&mut round.before);
        let users = round.users.iter().map(|user| user.user);
        self.shared.users().busy.leave(&round.turn, users, before);
    }
}
