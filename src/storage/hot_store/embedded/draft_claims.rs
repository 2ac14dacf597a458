//! Claims of a group in the making.

use std::collections::HashSet;

use fjall::{Keyspace, OwnedWriteBatch, Slice};

use super::tables::{ReadError, Tables, View};
use super::{claims, codec};
use crate::model::ids::UserId;
use crate::model::rewards::claim::{Claim, ClaimKey};
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

impl DraftClaims {
    pub fn count(&self) -> u64 {
        self.made.len() as u64
    }

    pub fn is_known(&self, key: &ClaimKey, view: &View) -> Result<bool, ReadError> {
        Ok(self.keys.contains(key) || (!self.erased_users.contains(&key.user) && view.is_claimed(key)?))
    }

    pub fn make(&mut self, claim: Claim) {
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
