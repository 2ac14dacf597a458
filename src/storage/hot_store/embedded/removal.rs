//! Takes out of the store what the pruner found, as a committer: nothing is removed that has changed since.

use super::codec;
use super::commit::Committer;
use super::tables::{ReadError, View};
use crate::model::forgetting::UserRow;
use crate::model::ids::{Content, UserId};
use crate::model::recording::Recording;
use crate::storage::hot_store::StoreError;

/// Rows of one batch; so long a commit may have to wait.
pub const REMOVALS_MAX: usize = 256;

pub type Row = (UserId, Content);

impl Committer {
    /// Prunes those of the rows that are dead.
    pub fn remove_dead(&mut self, rows: &[Row], horizon: u64) -> Result<(), StoreError> {
        self.refuse_if_failed()?;
        let mut batch = self.tables.batch();
        let (mut gone, mut pruned) = (Vec::new(), Vec::new());
        let view = self.tables.view();
        let mut of = None;
        for (user, content) in rows {
            let found =
                row_of(&view, &mut of, *user).and_then(|user_row| Ok((user_row, view.content(*user, *content)?)));
            let (user_row, mut row) = match found {
                Ok((user_row, Some(row))) => (user_row, row),
                Ok((_, None)) => continue,
                Err(error) => return Err(self.unread(error)),
            };
            if !row.prune(user_row, horizon) {
                continue;
            }
            let key = codec::content_key(*user, *content);
            pruned.push((*user, *content));
            if row.is_empty() {
                batch.remove(&self.tables.contents, key);
                gone.push(*user);
            } else {
                batch.insert(&self.tables.contents, key, self.writer.content(&row));
            }
        }
        self.write_at_leisure(batch)?;
        for (user, content) in pruned {
            self.known.take_row(user, content);
            self.known.full.pop(&user);
        }
        for user in gone {
            if let Some(count) = self.known.users.peek_mut(&user).and_then(|known| known.contents.as_mut()) {
                *count -= 1;
            }
        }
        Ok(())
    }

    /// Drops what is outlived of these users' forgetting.
    pub fn prune_users(&mut self, users: &[UserId], horizon: u64) -> Result<(), StoreError> {
        self.refuse_if_failed()?;
        let mut batch = self.tables.batch();
        let mut pruned = Vec::new();
        let view = self.tables.view();
        for user in users {
            let mut row = match view.user(*user) {
                Ok(row) => row,
                Err(error) => return Err(self.unread(error)),
            };
            if !prune_user(&mut row, horizon) {
                continue;
            }
            let key = codec::user_key(*user);
            if row == UserRow::default() {
                batch.remove(&self.tables.users, key);
            } else {
                batch.insert(&self.tables.users, key, self.writer.user(&row));
            }
            pruned.push((*user, row));
        }
        self.write_at_leisure(batch)?;
        for (user, row) in pruned {
            if let Some(known) = self.known.users.peek_mut(&user) {
                known.row = row;
            }
        }
        Ok(())
    }
}

/// Nothing older than the horizon is accepted or shown, so what refuses or hides only that may go. True: something went.
pub fn prune_user(row: &mut UserRow, horizon: u64) -> bool {
    let before = row.clone();
    for at in [&mut row.watermark, &mut row.floor] {
        if *at < horizon {
            *at = 0;
        }
    }
    row.recording.drop_outlived(horizon);
    if row.recording.switches().is_empty() && row.recording.frozen() < horizon {
        row.recording = Recording::default();
    }
    *row != before
}

/// The user's row, read once for all neighbouring rows of the user.
pub fn row_of<'o>(view: &View, of: &'o mut Option<(UserId, UserRow)>, user: UserId) -> Result<&'o UserRow, ReadError> {
    if of.as_ref().is_none_or(|(last, _)| *last != user) {
        *of = Some((user, view.user(user)?));
    }
    Ok(&of.as_ref().expect("it has just been read").1)
}
