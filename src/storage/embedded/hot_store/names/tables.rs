//! The tables of names, and typed reads of them.
//!
//! | table | key | value |
//! |---|---|---|
//! | `names` | keyed hash of the name | number |
//! | `name-texts` | number | the name; empty = it was dropped |
//! | `meta` | `name_key` | random: the key of the hashes |
//! | `meta` | `last_name` | the greatest number that was given |
//!
//! Numbers are big-endian, of 8 bytes.

use fjall::{Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, Readable, Snapshot};

use crate::hot_store::codec::DecodeError;
use crate::hot_store::tables::{ReadError, Tables};
use model::ids::UserId;
use model::user_name::{UserName, UserNameHash, UserNameKey};
use storage::names::{NameText, Numbered};

const MEMTABLE_BYTES: u64 = 8 << 20;
const KEY: &str = "name_key";
const LAST: &str = "last_name";

#[derive(Clone)]
pub struct NameTables {
    numbers: Keyspace,
    texts: Keyspace,
    meta: Keyspace,
    key: UserNameKey,
}

impl NameTables {
    /// Whether they were ever opened here.
    pub fn are_kept(tables: &Tables) -> fjall::Result<bool> {
        tables.meta.contains_key(KEY)
    }

    /// Makes the key of the hashes at the first opening.
    pub fn open(tables: &Tables) -> fjall::Result<Self> {
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        let (database, meta) = (&tables.database, tables.meta.clone());
        let stored = meta.get(KEY)?.and_then(|key| <[u8; UserNameKey::BYTES]>::try_from(&*key).ok());
        let key = match stored {
            Some(key) => key,
            None => {
                let key: [u8; UserNameKey::BYTES] = rand::random();
                let mut batch = tables.durable_batch(1);
                batch.insert(&meta, KEY, key);
                batch.commit()?;
                key
            }
        };
        Ok(NameTables {
            numbers: database.keyspace("names", options)?,
            texts: database.keyspace("name-texts", options)?,
            meta,
            key: UserNameKey::new(&key),
        })
    }

    pub fn hash(&self, name: &UserName) -> UserNameHash {
        self.key.hash(name)
    }

    pub fn number(&self, snapshot: &Snapshot, hash: &UserNameHash) -> Result<Option<UserId>, ReadError> {
        let bytes = snapshot.get(&self.numbers, hash.bytes())?;
        bytes.map(|bytes| Ok(UserId(parse_number(&bytes)?))).transpose()
    }

    pub fn numbered(&self, snapshot: &Snapshot, name: &UserName) -> Result<Option<Numbered>, ReadError> {
        let Some(user) = self.number(snapshot, &self.hash(name))? else { return Ok(None) };
        let is_dropped = !matches!(self.text(snapshot, user)?, Some(NameText::Known(_)));
        Ok(Some(Numbered { user, is_dropped }))
    }

    pub fn text(&self, snapshot: &Snapshot, user: UserId) -> Result<Option<NameText>, ReadError> {
        let Some(bytes) = snapshot.get(&self.texts, user.0.to_be_bytes())? else { return Ok(None) };
        if bytes.is_empty() {
            return Ok(Some(NameText::Dropped));
        }
        let name = std::str::from_utf8(&bytes).ok().and_then(|text| UserName::new(text).ok());
        let name = name.ok_or_else(|| DecodeError::of("the name of a user".to_owned()))?;
        Ok(Some(NameText::Known(name)))
    }

    /// The greatest number that was given.
    pub fn last(&self, snapshot: &Snapshot) -> Result<u64, ReadError> {
        let bytes = snapshot.get(&self.meta, LAST)?;
        bytes.map_or(Ok(0), |bytes| Ok(parse_number(&bytes)?))
    }

    pub fn put_number(&self, batch: &mut OwnedWriteBatch, hash: &UserNameHash, number: UserId) {
        batch.insert(&self.numbers, *hash.bytes(), number.0.to_be_bytes());
    }

    pub fn put_text(&self, batch: &mut OwnedWriteBatch, user: UserId, text: &NameText) {
        let text = match text {
            NameText::Known(name) => name.as_str(),
            NameText::Dropped => "",
        };
        batch.insert(&self.texts, user.0.to_be_bytes(), text);
    }

    pub fn put_last(&self, batch: &mut OwnedWriteBatch, last: u64) {
        batch.insert(&self.meta, LAST, last.to_be_bytes());
    }
}

fn parse_number(bytes: &[u8]) -> Result<u64, DecodeError> {
    let bytes = bytes.try_into().map_err(|_| DecodeError::of("the number of a name".to_owned()))?;
    Ok(u64::from_be_bytes(bytes))
}
