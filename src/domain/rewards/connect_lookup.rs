//! The state of a user that a new connection needs, where rewards are decided here.

use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::lookup::{ConnectInfo, Lookup};
use super::memory::{LookupReason, Memory};
use super::metrics::Metrics;
use super::today::Today;
use crate::cold::ColdReader;
use crate::store_reads::StoreReads;
use crate::store_reads::Unavailable;
use crate::time::clock::Clock;
use model::ids::{Content, UserId};
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::rewards::decided::DecidedRules;
use model::rewards::rule::{RuleSet, Rules};
use storage::hot_store::{CLAIM_DAYS, Claims, StoreError, UserStatus};

/// The most claims in one answer.
const CLAIMS_MAX: usize = 10_000;

/// Looks it up where rewards are decided here. The store is asked only for what the memory does not know.
pub struct ConnectLookup {
    pub store: Arc<dyn Claims>,
    pub clock: Arc<Clock>,
    pub rules: Arc<Rules>,
    pub today: Arc<Today>,
    pub memory: Arc<Memory>,
    pub metrics: Metrics,
    pub reads: StoreReads,
    /// With a history store.
    pub cold: Option<Arc<ColdReader>>,
}

impl ConnectLookup {
    pub fn today(&self) -> Day {
        self.today.day(self.clock.now())
    }

    /// The day at that moment. Cheap enough for every ack.
    pub fn day_at(&self, moment: Instant) -> Day {
        self.today.day(self.clock.at(moment))
    }

    /// Whether the sender of a beat knows that it cannot earn a reward today. Rules that start tomorrow count as open.
    pub fn is_all_decided(&self, content: Content, known: DecidedRules, now: Instant) -> bool {
        let undecided = self.rules.all().without(known.on(self.day_at(now), &self.rules));
        self.rules.may_apply(undecided, content, u64::MAX).is_empty()
    }

    pub async fn of(&self, user: UserId) -> Result<ConnectInfo, Unavailable> {
        let today = self.today.reward_day(self.clock.now());
        let remembered = self.memory.user_rules(user, &today, LookupReason::Welcome);
        let (paused, decided) = match remembered.paused {
            Some(paused) if remembered.certain || today.flag(&self.rules, remembered.decided).is_some() => {
                (paused, remembered.decided)
            }
            _ => {
                let ticket = self.memory.ticket(user);
                let (is_known, status) = self.reads.user_status.in_time(self.status(user, today.day)).await?;
                self.metrics.store_reads.inc();
                if is_known {
                    self.memory.learned_paused(user, status.paused, ticket);
                }
                let rewarded: RuleSet = status.rewarded.iter().filter_map(|id| self.rules.index_of(id)).collect();
                if !remembered.decided.without(rewarded).is_empty() {
                    // Only an erasure removes claims, so another gateway has erased the user.
                    self.memory.forget(user);
                }
                let new = rewarded.and(today.per_user(&self.rules)).without(remembered.decided);
                self.memory.learned_decided(user, new, today.day, ticket);
                (status.paused, rewarded)
            }
        };
        Ok(ConnectInfo { paused, today: today.day, flag: today.flag(&self.rules, decided) })
    }

    /// Whether the user's recording is known, too. If not, it counts as not paused: beats are not acked before it is known.
    async fn status(&self, user: UserId, day: Day) -> Result<(bool, UserStatus), StoreError> {
        let is_known = match &self.cold {
            Some(cold) => cold.make_known(user).await?,
            None => true,
        };
        Ok((is_known, self.store.user_status(user, day).await?))
    }

    /// Today, if all rules are decided for the user; otherwise `None`, even if only because the store does not answer.
    pub async fn flag(&self, user: UserId) -> Option<Day> {
        let today = self.today.reward_day(self.clock.now());
        if today.per_user(&self.rules).is_empty() {
            return None;
        }
        let remembered = self.memory.user_rules(user, &today, LookupReason::Welcome);
        match today.flag(&self.rules, remembered.decided) {
            None if !remembered.certain => self.of(user).await.ok()?.flag,
            known => known,
        }
    }

    /// The user's claims of today.
    pub async fn claims(&self, user: UserId) -> Result<(Day, Vec<ClaimKey>), Unavailable> {
        let today = self.today();
        Ok((today, self.reads.claims.in_time(self.store.claims_of(user, today, CLAIMS_MAX)).await?))
    }

    /// All kept claims, the newest day first.
    pub async fn kept_claims(&self, user: UserId) -> Result<Vec<ClaimKey>, Unavailable> {
        let mut claims = Vec::new();
        for ago in 0..CLAIM_DAYS {
            let day = Day::of_number(self.today().number().saturating_sub(ago));
            claims.extend(self.reads.claims.in_time(self.store.claims_of(user, day, CLAIMS_MAX)).await?);
        }
        Ok(claims)
    }
}

impl Lookup for ConnectLookup {
    fn today(&self) -> Day {
        ConnectLookup::today(self)
    }

    fn day_at(&self, moment: Instant) -> Day {
        ConnectLookup::day_at(self, moment)
    }

    fn is_all_decided(&self, content: Content, known: DecidedRules, now: Instant) -> bool {
        ConnectLookup::is_all_decided(self, content, known, now)
    }

    fn of(&self, user: UserId) -> BoxFuture<'_, Result<ConnectInfo, Unavailable>> {
        ConnectLookup::of(self, user).boxed()
    }

    fn flag(&self, user: UserId) -> BoxFuture<'_, Option<Day>> {
        ConnectLookup::flag(self, user).boxed()
    }

    fn claims(&self, user: UserId) -> BoxFuture<'_, Result<(Day, Vec<ClaimKey>), Unavailable>> {
        ConnectLookup::claims(self, user).boxed()
    }

    fn kept_claims(&self, user: UserId) -> BoxFuture<'_, Result<Vec<ClaimKey>, Unavailable>> {
        ConnectLookup::kept_claims(self, user).boxed()
    }
}
