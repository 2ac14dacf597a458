//! Claims of a group in the making.

use std::collections::HashSet;
use std::sync::Arc;

use fjall::{Keyspace, OwnedWriteBatch, Slice};

use super::draft::Draft;
use super::tables::{ReadError, Tables, View};
use super::{claims, codec};
use crate::model::beat::Beat;
use crate::model::change::Decided;
use crate::model::ids::UserId;
use crate::model::record::Record;
use crate::model::rewards::claim::{Claim, ClaimKey};
use crate::model::rewards::rule::RuleSet;
use crate::storage::hot_store::Rewarding;
use crate::storage::outbox::OutboxNumber;

/// What a group claims, and what is erased of the claims there are.
#[derive(Default)]
pub struct DraftClaims {
    /// With whether the key is kept: not if its user was erased afterwards.
    made: Vec<(Claim, bool)>,
    keys: HashSet<ClaimKey>,
    /// Of them nothing counts that is stored.
    erased_users: HashSet<UserId>,
    erased: Vec<(Keyspace, Slice)>,
}

/// Rewards the beats of one group.
pub struct Rewarder<'g> {
    pub now: u64,
    pub rewards: &'g Rewarding,
    /// In the order of the changes.
    pub decided: Vec<Decided>,
}

impl Rewarder<'_> {
    /// `beat` of this change was written as `after`. Makes the claims it has earned.
    pub fn reward(
        &mut self,
        draft: &mut Draft,
        change: usize,
        user: UserId,
        beat: &Beat,
        after: &Record,
        asks: RuleSet,
    ) -> Result<(), ReadError> {
        if asks.is_empty() {
            return Ok(());
        }
        let Some(earned) = after.credit.earned(beat, self.now) else { return Ok(()) };
        for place in asks.and(self.rewards.today.rules).iter() {
            let rule = self.rewards.rules.get(place);
            if earned < rule.watched_ms() || !rule.is_for(beat.content) {
                continue;
            }
            let key = ClaimKey::of(rule, self.rewards.today.day, user, after.content);
            let known = draft.claims.is_known(&key, &draft.view)?;
            if !known && draft.claims.count() >= self.rewards.claims_max {
                // Nothing is decided: it is asked again when there is room.
                continue;
            }
            if !known {
                draft.claims.make(self.claim(key, after));
            }
            self.decided.push(Decided { change, rule: place, first: !known });
        }
        Ok(())
    }

    fn claim(&self, key: ClaimKey, after: &Record) -> Claim {
        Claim {
            key,
            content: after.content,
            session: after.session,
            device: Arc::clone(&after.device),
            watched: after.watched,
            claimed_at: self.now,
            zone: Arc::clone(&self.rewards.today.zone),
        }
    }
}

impl DraftClaims {
    pub fn count(&self) -> u64 {
        self.made.len() as u64
    }

    fn is_known(&self, key: &ClaimKey, view: &View) -> Result<bool, ReadError> {
        Ok(self.keys.contains(key) || (!self.erased_users.contains(&key.user) && view.is_claimed(key)?))
    }

    fn make(&mut self, claim: Claim) {
        self.keys.insert(claim.key.clone());
        self.made.push((claim, true));
    }

    /// Takes the user's claims out of the store. Events that are to be published stay so.
    pub fn erase(&mut self, user: UserId, view: &View) -> Result<(), ReadError> {
        if self.erased_users.insert(user) {
            self.erased.extend(view.all_claims_of(user)?);
        }
        self.keys.retain(|key| key.user != user);
        self.made.iter_mut().filter(|(claim, _)| claim.key.user == user).for_each(|(_, kept)| *kept = false);
        Ok(())
    }

    /// Adds claims and their entries in the outbox, the first of which has the number `next`.
    pub fn put(&self, tables: &Tables, batch: &mut OwnedWriteBatch, next: OutboxNumber) -> fjall::Result<()> {
        let mut put = HashSet::new();
        for ((claim, kept), number) in self.made.iter().zip(next..) {
            if *kept {
                let (table, key) = (tables.claims.of_or_new(claim.key.day)?, claims::key(&claim.key));
                if !self.erased.is_empty() {
                    put.insert((table.id(), key.clone()));
                }
                batch.insert(&table, key, []);
            }
            batch.insert(&tables.outbox, number.to_be_bytes(), codec::claim(claim));
        }
        // Of two entries of one key in a batch nobody says which holds.
        let gone = self.erased.iter().filter(|(table, key)| !put.contains(&(table.id(), key.to_vec())));
        gone.for_each(|(table, key)| batch.remove(table, key.clone()));
        Ok(())
    }
}
