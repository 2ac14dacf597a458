//! Claims of a group in the making.

use std::collections::{BTreeSet, HashSet};

use fjall::{Keyspace, OwnedWriteBatch, Slice};

use super::tables::{ReadError, Tables, View};
use super::{claims, codec};
use crate::model::ids::UserId;
use crate::model::outbox_entry::OutboxEntry;
use crate::model::rewards::claim::{Claim, ClaimKey};
use crate::model::rewards::day::Day;
use crate::storage::outbox::OutboxNumber;

/// What a group claims, and what is erased of the claims there are.
#[derive(Default)]
pub struct DraftClaims {
    made: Vec<Claim>,
    /// Their keys, as they will be stored; not those of users who were erased afterwards.
    keys: BTreeSet<(Day, Vec<u8>)>,
    /// Of them nothing counts that is stored.
    erased_users: HashSet<UserId>,
    erased: Vec<(Day, Keyspace, Slice)>,
}

impl DraftClaims {
    pub fn count(&self) -> u64 {
        self.made.len() as u64
    }

    pub fn is_known(&self, key: &ClaimKey, view: &View) -> Result<bool, ReadError> {
        let stored = (key.day, claims::key(key));
        Ok(self.keys.contains(&stored)
            || (!self.erased_users.contains(&key.user) && view.is_claimed(key.day, &stored.1)?))
    }

    pub fn make(&mut self, claim: Claim) {
        self.keys.insert((claim.key.day, claims::key(&claim.key)));
        self.made.push(claim);
    }

    /// Takes the user's claims out of the store. Events that are to be published stay so.
    pub fn erase(&mut self, user: UserId, view: &View) -> Result<(), ReadError> {
        if self.erased_users.insert(user) {
            self.erased.extend(view.all_claims_of(user)?);
        }
        let theirs = claims::user_prefix(user);
        self.keys.retain(|(_, key)| !key.starts_with(&theirs));
        Ok(())
    }

    /// Adds claims and their entries in the outbox, the first of which has the number `next`.
    pub fn put(&self, tables: &Tables, batch: &mut OwnedWriteBatch, next: OutboxNumber) -> fjall::Result<()> {
        for (day, key) in &self.keys {
            batch.insert(&tables.claims.of_or_new(*day)?, key.as_slice(), []);
        }
        for (claim, number) in self.made.iter().zip(next..) {
            let entry = codec::outbox_entry(&OutboxEntry::Claim(claim.clone()));
            batch.insert(&tables.outbox, number.to_be_bytes(), entry);
        }
        // Of two entries of one key in a batch nobody says which holds.
        let gone = self.erased.iter().filter(|(day, _, key)| !self.keys.contains(&(*day, key.to_vec())));
        gone.for_each(|(_, table, key)| batch.remove(table, key.clone()));
        Ok(())
    }
}
