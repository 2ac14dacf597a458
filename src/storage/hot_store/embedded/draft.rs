//! A group in the making: the rows it concerns, each read once, with its changes applied.
//!
//! Later changes of a group see the earlier ones here; nothing is stored until the whole group is decided.

use std::collections::{BTreeMap, HashMap, btree_map, hash_map};

use fjall::OwnedWriteBatch;

use super::candidates::Candidates;
use super::codec::{self, RowWriter};
use super::draft_claims::DraftClaims;
use super::outbox::Extent;
use super::tables::{ReadError, Tables, View};
use super::user_cache::UserCache;
use crate::model::forgetting::{ContentRow, UserRow};
use crate::model::ids::{Content, UserId};
use crate::model::record::Record;

const FIRST: Content = Content { kind: 0, oid: 0 };
const LAST: Content = Content { kind: u16::MAX, oid: u64::MAX };

pub struct Draft<'a> {
    pub view: View<'a>,
    cache: &'a mut UserCache,
    /// Those of whom something has changed.
    users: HashMap<UserId, DraftUser>,
    /// Where in `rows` each content is, in the order of their keys, which is the order a batch is best written in.
    places: BTreeMap<(UserId, Content), usize>,
    /// In the order in which the changes came to them.
    rows: Vec<DraftContent>,
    pub claims: DraftClaims,
}

#[derive(Clone)]
pub struct DraftUser {
    pub row: UserRow,
    /// How many contents are kept; `None`: nobody has counted.
    pub contents: Option<u32>,
    pub row_changed: bool,
}

pub struct DraftContent {
    user: UserId,
    /// Empty = there is no row.
    pub row: ContentRow,
    pub changed: bool,
    on_disk: bool,
}

impl<'a> Draft<'a> {
    /// `changes`: how many there will be.
    pub fn new(tables: &'a Tables, cache: &'a mut UserCache, changes: usize) -> Self {
        let rows = Vec::with_capacity(changes);
        Draft {
            view: tables.view(),
            cache,
            users: HashMap::new(),
            places: BTreeMap::new(),
            rows,
            claims: DraftClaims::default(),
        }
    }

    pub fn user(&mut self, user: UserId) -> Result<&UserRow, ReadError> {
        user_row_of(&self.users, self.cache, &self.view, user)
    }

    /// How many contents of the user are kept, if that has been counted.
    pub fn contents_of(&mut self, user: UserId) -> Result<Option<u32>, ReadError> {
        Ok(match self.users.get(&user) {
            Some(draft) => draft.contents,
            None => self.cache.user(user, || self.view.user(user))?.contents,
        })
    }

    pub fn user_mut(&mut self, user: UserId) -> Result<&mut DraftUser, ReadError> {
        Ok(match self.users.entry(user) {
            hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hash_map::Entry::Vacant(entry) => {
                let known = self.cache.user(user, || self.view.user(user))?;
                entry.insert(DraftUser { row: known.row.clone(), contents: known.contents, row_changed: false })
            }
        })
    }

    pub fn content(&mut self, user: UserId, content: Content) -> Result<&mut DraftContent, ReadError> {
        content_of(&mut self.places, &mut self.rows, self.cache, &self.view, user, content)
    }

    /// Both at once: what a beat is judged by.
    pub fn user_and_content(
        &mut self,
        user: UserId,
        content: Content,
    ) -> Result<(&UserRow, &mut DraftContent), ReadError> {
        let drafted = content_of(&mut self.places, &mut self.rows, self.cache, &self.view, user, content)?;
        Ok((user_row_of(&self.users, self.cache, &self.view, user)?, drafted))
    }

    /// Shows all rows of a user, in no particular order.
    pub fn visit(&self, user: UserId, mut visit: impl FnMut(Content, &ContentRow)) -> Result<(), ReadError> {
        for ((_, content), place) in self.places.range((user, FIRST)..=(user, LAST)) {
            let row = &self.rows[*place].row;
            if !row.is_empty() {
                visit(*content, row);
            }
        }
        for stored in self.view.contents_of(user) {
            let (content, row) = stored?;
            if !self.places.contains_key(&(user, content)) {
                visit(content, &row);
            }
        }
        Ok(())
    }

    /// Empties all rows of a user, and gives their records to `taken`. Returns the newest moment any of them was known by. At
    /// most as many rows as are kept of one user, all in this group: whoever waits for its commit waits for that.
    pub fn take_contents(&mut self, user: UserId, mut taken: impl FnMut(Record)) -> Result<u64, ReadError> {
        for stored in self.view.contents_of(user) {
            let (content, row) = stored?;
            self.places.entry((user, content)).or_insert_with(|| {
                // If it was remembered, it is so no more.
                self.cache.take_row(user, content);
                self.rows.push(DraftContent { user, row, changed: false, on_disk: true });
                self.rows.len() - 1
            });
        }
        let mut newest = 0;
        for (_, place) in self.places.range((user, FIRST)..=(user, LAST)) {
            let draft = &mut self.rows[*place];
            newest = newest.max(draft.row.newest());
            draft.changed = true;
            if let Some(record) = std::mem::take(&mut draft.row).record {
                taken(record);
            }
        }
        self.cache.full.pop(&user);
        self.user_mut(user)?.contents = Some(0);
        Ok(newest)
    }

    pub fn candidates(&mut self, user: UserId) -> Option<&mut Candidates> {
        self.cache.full.get_mut(&user)
    }

    pub fn put_candidates(&mut self, user: UserId, candidates: Candidates) {
        self.cache.full.put(user, candidates);
    }

    /// The first of the user's contents that have something dead, at most `limit`.
    pub fn dead_of(&mut self, user: UserId, horizon: u64, limit: usize) -> Result<Vec<Content>, ReadError> {
        let forgetting = self.user(user)?.clone();
        let is_dead = |row: &ContentRow| row.clone().prune(&forgetting, horizon);
        let drafted = self.places.range((user, FIRST)..=(user, LAST));
        let drafted = drafted.filter(|(_, place)| is_dead(&self.rows[**place].row)).map(|((_, content), _)| *content);
        let mut dead: Vec<Content> = drafted.take(limit).collect();
        let mut stored = self.view.contents_of(user);
        while dead.len() < limit
            && let Some(next) = stored.next()
        {
            let (content, row) = next?;
            if !self.places.contains_key(&(user, content)) && is_dead(&row) {
                dead.push(content);
            }
        }
        Ok(dead)
    }

    /// They may be gone.
    pub fn forget_candidates(&mut self, user: UserId) {
        self.cache.full.pop(&user);
    }

    /// A batch of what has changed; `None`: nothing has. Claims enter the outbox behind `outbox`.
    pub fn batch(
        &self,
        tables: &Tables,
        writer: &mut RowWriter,
        now: u64,
        outbox: &Extent,
    ) -> fjall::Result<Option<OwnedWriteBatch>> {
        let mut batch = tables.durable_batch(self.rows.len() + 2 + 2 * self.claims.count() as usize);
        for ((user, content), place) in &self.places {
            let draft = &self.rows[*place];
            let key = codec::content_key(*user, *content);
            match (draft.changed, draft.row.is_empty()) {
                (true, false) => batch.insert(&tables.contents, key, writer.content(&draft.row)),
                (true, true) if draft.on_disk => batch.remove(&tables.contents, key),
                _ => {}
            }
        }
        for (user, draft) in self.users.iter().filter(|(_, draft)| draft.row_changed) {
            match draft.row == UserRow::default() {
                true => batch.remove(&tables.users, codec::user_key(*user)),
                false => batch.insert(&tables.users, codec::user_key(*user), writer.user(&draft.row)),
            }
        }
        self.claims.put(tables, &mut batch, outbox.next())?;
        if batch.is_empty() {
            return Ok(None);
        }
        tables.put_newest_commit(&mut batch, now);
        Ok(Some(batch))
    }

    /// To be called when what has changed is stored.
    pub fn remember(self) {
        for (user, draft) in self.users {
            self.cache.put_user(user, draft.row, draft.contents);
        }
        for draft in self.rows {
            self.cache.put_row(draft.user, draft.row, draft.changed);
        }
    }
}

fn user_row_of<'d>(
    users: &'d HashMap<UserId, DraftUser>,
    cache: &'d mut UserCache,
    view: &View<'_>,
    user: UserId,
) -> Result<&'d UserRow, ReadError> {
    // Mostly nobody is in there, and looking costs a hash.
    if !users.is_empty()
        && let Some(draft) = users.get(&user)
    {
        return Ok(&draft.row);
    }
    Ok(&cache.user(user, || view.user(user))?.row)
}

fn content_of<'d>(
    places: &mut BTreeMap<(UserId, Content), usize>,
    rows: &'d mut Vec<DraftContent>,
    cache: &mut UserCache,
    view: &View<'_>,
    user: UserId,
    content: Content,
) -> Result<&'d mut DraftContent, ReadError> {
    Ok(match places.entry((user, content)) {
        btree_map::Entry::Occupied(entry) => &mut rows[*entry.get()],
        btree_map::Entry::Vacant(entry) => {
            let stored = match cache.take_row(user, content) {
                Some(row) => Some(row),
                None => view.content(user, content)?,
            };
            let on_disk = stored.is_some();
            let place = *entry.insert(rows.len());
            rows.push(DraftContent { user, row: stored.unwrap_or_default(), changed: false, on_disk });
            &mut rows[place]
        }
    })
}
