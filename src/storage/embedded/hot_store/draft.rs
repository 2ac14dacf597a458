//! A group that is being decided: a draft of each user that it changes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::stored::{Stored, StoredClaim};
use super::tables::{ReadError, View};
use super::user_cache::UserCache;
use model::decide::{Draft, Drafted};
use model::ids::UserId;

pub struct GroupDraft<'a> {
    view: &'a View<'a>,
    cache: &'a RefCell<&'a mut UserCache>,
    indexes: HashMap<UserId, usize>,
    /// The drafts, in the order of the users' first changes.
    drafts: Vec<(UserId, Draft<Stored<'a>>)>,
}

impl<'a> GroupDraft<'a> {
    /// `changes`: the number of changes to come.
    pub fn new(view: &'a View<'a>, cache: &'a RefCell<&'a mut UserCache>, changes: usize) -> Self {
        GroupDraft { view, cache, indexes: HashMap::with_capacity(changes), drafts: Vec::with_capacity(changes) }
    }

    pub fn of(&mut self, user: UserId) -> Result<&mut Draft<Stored<'a>>, ReadError> {
        let index = match self.indexes.entry(user) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let draft = Draft::new(Stored { view: self.view, cache: self.cache, user })?;
                self.drafts.push((user, draft));
                *entry.insert(self.drafts.len() - 1)
            }
        };
        Ok(&mut self.drafts[index].1)
    }

    /// The drafts, in the order of the users.
    pub fn drafted(&self) -> impl Iterator<Item = (UserId, &Drafted<Vec<StoredClaim>>)> {
        let mut order: Vec<(UserId, usize)> =
            self.drafts.iter().zip(0..).map(|((user, _), index)| (*user, index)).collect();
        order.sort_unstable();
        order.into_iter().map(|(user, index)| (user, self.drafts[index].1.drafted()))
    }

    pub fn unordered(&self) -> impl Iterator<Item = &Drafted<Vec<StoredClaim>>> {
        self.drafts.iter().map(|(_, draft)| draft.drafted())
    }

    /// Caches the drafts. To be called after the group is stored.
    pub fn remember(self) {
        let mut cache = self.cache.borrow_mut();
        self.drafts.into_iter().for_each(|(user, draft)| cache.put(user, draft.finish()));
    }
}
