//! The batch that stores a decided group.

use std::collections::BTreeSet;

use fjall::OwnedWriteBatch;

use super::claims;
use super::codec::{self, RowWriter};
use super::draft::GroupDraft;
use super::tables::{ReadError, Tables};
use super::views::ViewDraft;
use model::decide::{DraftClaim, DraftRow};
use model::forgetting::UserRow;
use model::ids::UserId;
use model::outbox_entry::OutboxEntry;
use storage::outbox::OutboxNumber;

impl GroupDraft<'_> {
    /// The number of outbox entries that the group adds: one for each claim that is no view.
    pub fn entries(&self) -> u64 {
        self.claims().filter(|made| !made.claim.key.is_view()).count() as u64
    }

    /// Counts the views of the group's claims. A claim that was erased later in the group still counts its view.
    pub fn count_views(&self, views: &mut ViewDraft) -> Result<(), ReadError> {
        for key in self.claims().map(|made| &made.claim.key).filter(|key| key.is_view()) {
            if let Some(content) = key.content {
                views.add(content, key.day)?;
            }
        }
        Ok(())
    }

    fn claims(&self) -> impl Iterator<Item = &DraftClaim> {
        self.unordered().flat_map(|drafted| &drafted.claims)
    }

    /// The batch of the group, empty if nothing has changed. Rows are in the order of their keys, in which they are
    /// written fastest. The first claim enters the outbox with the number `next`.
    pub fn batch(&self, tables: &Tables, writer: &mut RowWriter, next: OutboxNumber) -> fjall::Result<OwnedWriteBatch> {
        let mut batch = tables.durable_batch(self.unordered().count() + 2 + 3 * self.claims().count());
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

    /// Puts claims, and their entries in the outbox in the order in which they were made.
    fn put_claims(&self, tables: &Tables, batch: &mut OwnedWriteBatch, next: OutboxNumber) -> fjall::Result<()> {
        let mut made: Vec<&DraftClaim> = self.claims().collect();
        made.sort_by_key(|made| made.change);
        let kept = made.iter().filter(|made| made.kept).map(|made| &made.claim.key);
        let kept: BTreeSet<_> = kept.map(|key| (key.day, claims::key(key))).collect();
        for (day, key) in &kept {
            batch.insert(&tables.claims.of_or_new(*day)?, key.as_slice(), []);
        }
        for (made, number) in made.iter().filter(|made| !made.claim.key.is_view()).zip(next..) {
            let entry = codec::outbox_entry(&OutboxEntry::Claim(made.claim.clone()));
            batch.insert(&tables.outbox, number.to_be_bytes(), entry);
        }
        // If a batch has two entries of one key, it is undefined which of them wins.
        let erased = self.unordered().flat_map(|drafted| drafted.erased_claims.iter().flatten());
        let gone = erased.filter(|(day, _, key)| !kept.contains(&(*day, key.to_vec())));
        gone.for_each(|(_, table, key)| batch.remove(table, key.clone()));
        Ok(())
    }
}

/// Puts rows sorted by key. Mostly there is one row, and nothing to sort.
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
