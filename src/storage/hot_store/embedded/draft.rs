//! A group in the making: the rows it concerns, each read once, with its changes applied.
//!
//! Later changes of a group see the earlier ones here; nothing is stored until the whole group is decided.

use std::collections::{BTreeMap, HashMap, btree_map, hash_map};

use fjall::OwnedWriteBatch;

use super::cap::Candidates;
use super::codec::{self, RowWriter};
use super::known::{Known, KnownUser};
use super::tables::{ReadError, Tables, View};
use crate::model::forgetting::{ContentRow, UserRow};
use crate::model::ids::{Content, UserId};

const FIRST: Content = Content { kind: 0, oid: 0 };
const LAST: Content = Content { kind: u16::MAX, oid: u64::MAX };

pub struct Draft<'a> {
    pub view: View<'a>,
    known: &'a mut Known,
    /// Those of whom something has changed.
    users: HashMap<UserId, DraftUser>,
    /// In the order of their keys, which is the order a batch is best written in.
    contents: BTreeMap<(UserId, Content), DraftContent>,
}

pub struct DraftUser {
    pub known: KnownUser,
    pub row_changed: bool,
}

pub struct DraftContent {
    /// Empty = there is no row.
    pub row: ContentRow,
    pub changed: bool,
    on_disk: bool,
}

impl<'a> Draft<'a> {
    pub fn new(tables: &'a Tables, known: &'a mut Known) -> Self {
        Draft { view: tables.view(), known, users: HashMap::new(), contents: BTreeMap::new() }
    }

    pub fn user(&mut self, user: UserId) -> Result<&KnownUser, ReadError> {
        known_of(&self.users, self.known, &self.view, user)
    }

    pub fn user_mut(&mut self, user: UserId) -> Result<&mut DraftUser, ReadError> {
        Ok(match self.users.entry(user) {
            hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hash_map::Entry::Vacant(entry) => {
                let known = self.known.user(user, || self.view.user(user))?.clone();
                entry.insert(DraftUser { known, row_changed: false })
            }
        })
    }

    pub fn content(&mut self, user: UserId, content: Content) -> Result<&mut DraftContent, ReadError> {
        content_of(&mut self.contents, &self.view, user, content)
    }

    /// Both at once: what a beat is judged by.
    pub fn user_and_content(
        &mut self,
        user: UserId,
        content: Content,
    ) -> Result<(&UserRow, &mut DraftContent), ReadError> {
        let known = known_of(&self.users, self.known, &self.view, user)?;
        Ok((&known.row, content_of(&mut self.contents, &self.view, user, content)?))
    }

    /// Shows all rows of a user, in no particular order.
    pub fn visit(&self, user: UserId, mut visit: impl FnMut(Content, &ContentRow)) -> Result<(), ReadError> {
        for ((_, content), draft) in self.contents.range((user, FIRST)..=(user, LAST)) {
            if !draft.row.is_empty() {
                visit(*content, &draft.row);
            }
        }
        for stored in self.view.contents_of(user) {
            let (content, row) = stored?;
            if !self.contents.contains_key(&(user, content)) {
                visit(content, &row);
            }
        }
        Ok(())
    }

    /// Empties all rows of a user; returns the newest moment any of them was known by. At most as many rows as are kept
    /// of one user, all in this group: whoever waits for its commit waits for that.
    pub fn take_contents(&mut self, user: UserId) -> Result<u64, ReadError> {
        for stored in self.view.contents_of(user) {
            let (content, row) = stored?;
            let entry = self.contents.entry((user, content));
            entry.or_insert(DraftContent { row, changed: false, on_disk: true });
        }
        let mut newest = 0;
        for (_, draft) in self.contents.range_mut((user, FIRST)..=(user, LAST)) {
            newest = newest.max(draft.row.newest());
            draft.row = ContentRow::default();
            draft.changed = true;
        }
        self.known.full.pop(&user);
        self.user_mut(user)?.known.contents = Some(0);
        Ok(newest)
    }

    pub fn candidates(&mut self, user: UserId) -> Option<&mut Candidates> {
        self.known.full.get_mut(&user)
    }

    pub fn put_candidates(&mut self, user: UserId, candidates: Candidates) {
        self.known.full.put(user, candidates);
    }

    /// A batch of what has changed; `None`: nothing has.
    pub fn batch(&self, tables: &Tables, writer: &mut RowWriter, now: u64) -> Option<OwnedWriteBatch> {
        let mut batch = tables.durable_batch(self.contents.len() + 2);
        for ((user, content), draft) in &self.contents {
            let key = codec::content_key(*user, *content);
            match (draft.changed, draft.row.is_empty()) {
                (true, false) => batch.insert(&tables.contents, key, writer.content(&draft.row)),
                (true, true) if draft.on_disk => batch.remove(&tables.contents, key),
                _ => {}
            }
        }
        for (user, draft) in self.users.iter().filter(|(_, draft)| draft.row_changed) {
            batch.insert(&tables.users, codec::user_key(*user), writer.user(&draft.known.row));
        }
        if batch.is_empty() {
            return None;
        }
        tables.put_newest_commit(&mut batch, now);
        Some(batch)
    }

    /// To be called when what has changed is stored.
    pub fn remember(self) {
        for (user, draft) in self.users {
            self.known.users.put(user, draft.known);
        }
    }
}

fn known_of<'d>(
    users: &'d HashMap<UserId, DraftUser>,
    known: &'d mut Known,
    view: &View<'_>,
    user: UserId,
) -> Result<&'d KnownUser, ReadError> {
    // Mostly nobody is in there, and looking costs a hash.
    if !users.is_empty()
        && let Some(draft) = users.get(&user)
    {
        return Ok(&draft.known);
    }
    known.user(user, || view.user(user))
}

fn content_of<'d>(
    contents: &'d mut BTreeMap<(UserId, Content), DraftContent>,
    view: &View<'_>,
    user: UserId,
    content: Content,
) -> Result<&'d mut DraftContent, ReadError> {
    Ok(match contents.entry((user, content)) {
        btree_map::Entry::Occupied(entry) => entry.into_mut(),
        btree_map::Entry::Vacant(entry) => {
            let stored = view.content(user, content)?;
            let on_disk = stored.is_some();
            entry.insert(DraftContent { row: stored.unwrap_or_default(), changed: false, on_disk })
        }
    })
}
