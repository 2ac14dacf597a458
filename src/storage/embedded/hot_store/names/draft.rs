//! The changes of names in one batch.

use std::collections::{BTreeMap, HashMap};

use fjall::{OwnedWriteBatch, Snapshot};

use super::tables::NameTables;
use crate::hot_store::tables::{ReadError, Tables};
use model::ids::UserId;
use model::user_name::{UserName, UserNameHash};
use storage::names::NameText;

pub struct NameDraft<'a> {
    tables: &'a NameTables,
    snapshot: &'a Snapshot,
    numbers: HashMap<UserNameHash, UserId>,
    texts: BTreeMap<UserId, NameText>,
    /// The greatest number that was given; `None`: it was not read yet.
    last: Option<u64>,
}

impl<'a> NameDraft<'a> {
    pub fn new(tables: &'a NameTables, snapshot: &'a Snapshot) -> Self {
        NameDraft { tables, snapshot, numbers: HashMap::new(), texts: BTreeMap::new(), last: None }
    }

    pub fn number(&mut self, name: &UserName) -> Result<UserId, ReadError> {
        let hash = self.tables.hash(name);
        let drafted = self.numbers.get(&hash).copied();
        let number =
            match drafted.map_or_else(|| self.tables.number(self.snapshot, &hash), |number| Ok(Some(number)))? {
                Some(number) => number,
                None => {
                    let number = self.next()?;
                    self.numbers.insert(hash, number);
                    number
                }
            };
        let known = NameText::Known(name.clone());
        if self.text(number)?.as_ref() != Some(&known) {
            self.texts.insert(number, known);
        }
        Ok(number)
    }

    pub fn drop_text(&mut self, user: UserId) -> Result<(), ReadError> {
        if let Some(NameText::Known(_)) = self.text(user)? {
            self.texts.insert(user, NameText::Dropped);
        }
        Ok(())
    }

    fn text(&self, user: UserId) -> Result<Option<NameText>, ReadError> {
        self.texts.get(&user).map_or_else(|| self.tables.text(self.snapshot, user), |text| Ok(Some(text.clone())))
    }

    fn next(&mut self) -> Result<UserId, ReadError> {
        let last = self.last.map_or_else(|| self.tables.last(self.snapshot), Ok)?;
        self.last = Some(last + 1);
        Ok(UserId(last + 1))
    }

    /// A durable batch; `None`: nothing has changed.
    pub fn batch(&self, tables: &Tables) -> Option<OwnedWriteBatch> {
        if self.texts.is_empty() {
            return None;
        }
        let mut batch = tables.durable_batch(self.numbers.len() + self.texts.len() + 1);
        for (hash, number) in &self.numbers {
            self.tables.put_number(&mut batch, hash, *number);
        }
        for (user, text) in &self.texts {
            self.tables.put_text(&mut batch, *user, text);
        }
        if let Some(last) = self.last {
            self.tables.put_last(&mut batch, last);
        }
        Some(batch)
    }
}
