//! What is written of a group that is decided.

use std::collections::BTreeSet;

use fjall::OwnedWriteBatch;

use super::claims;
use super::codec::{self, RowWriter};
use super::draft::GroupDraft;
use super::tables::Tables;
use crate::model::decide::{DraftClaim, DraftRow};
use crate::model::forgetting::UserRow;
use crate::model::ids::UserId;
use crate::model::outbox_entry::OutboxEntry;
use crate::storage::outbox::OutboxNumber;

impl GroupDraft<'_> {
    /// How many claims it makes.
    pub fn claims(&self) -> u64 {
        self.unordered().map(|drafted| drafted.claims.len() as u64).sum()
    }

    /// Rows are in the order of their keys, which is the one they are best written in. The first claim enters the
    /// outbox with the number `next`. Nothing has changed: the batch is empty.
    pub fn batch(&self, tables: &Tables, writer: &mut RowWriter, next: OutboxNumber) -> fjall::Result<OwnedWriteBatch> {
        let mut batch = tables.durable_batch(self.unordered().count() + 2 + 2 * self.claims() as usize);
        for (user, drafted) in self.drafted() {
            put_rows(tables, &mut batch, writer, user, &drafted.rows);
            match drafted.forgetting == UserRow::default() {
                _ if !drafted.forgetting_changed => {}
                true => batch.remove(&tables.users, codec::user_key(user)),
                false => batch.insert(&tables.users, codec::user_key(user), writer.user(&drafted.forgetting)),
            }
        }
        self.put_claims(tables, &mut batch, next)?;
        Ok(batch)
    }

    /// Claims, and their entries in the outbox in the order in which they were made.
    fn put_claims(&self, tables: &Tables, batch: &mut OwnedWriteBatch, next: OutboxNumber) -> fjall::Result<()> {
        let mut made: Vec<&DraftClaim> = self.unordered().flat_map(|drafted| &drafted.claims).collect();
        made.sort_by_key(|made| made.change);
        let kept = made.iter().filter(|made| made.kept).map(|made| &made.claim.key);
        let kept: BTreeSet<_> = kept.map(|key| (key.day, claims::key(key))).collect();
        for (day, key) in &kept {
            batch.insert(&tables.claims.of_or_new(*day)?, key.as_slice(), []);
        }
        for (made, number) in made.iter().zip(next..) {
            let entry = codec::outbox_entry(&OutboxEntry::Claim(made.claim.clone()));
            batch.insert(&tables.outbox, number.to_be_bytes(), entry);
        }
        // It is not defined which of two entries of one key in a batch holds.
        let erased = self.unordered().flat_map(|drafted| drafted.erased_claims.iter().flatten());
        let gone = erased.filter(|(day, _, key)| !kept.contains(&(*day, key.to_vec())));
        gone.for_each(|(_, table, key)| batch.remove(table, key.clone()));
        Ok(())
    }
}

/// Mostly there is one, and nothing is to be sorted.
fn put_rows(tables: &Tables, batch: &mut OwnedWriteBatch, writer: &mut RowWriter, user: UserId, rows: &[DraftRow]) {
    let mut put = |draft: &DraftRow| {
        let key = codec::content_key(user, draft.content);
        match draft.row.is_empty() {
            _ if !draft.changed => {}
            false => batch.insert(&tables.contents, key, writer.content(&draft.row)),
            true if draft.is_stored => batch.remove(&tables.contents, key),
            true => {}
        }
    };
    if rows.is_sorted_by_key(|draft| draft.content) {
        return rows.iter().for_each(put);
    }
    let mut sorted: Vec<&DraftRow> = rows.iter().collect();
    sorted.sort_unstable_by_key(|draft| draft.content);
    sorted.into_iter().for_each(&mut put);
}
