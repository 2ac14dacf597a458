//! The tables of the texts of contents.
//!
//! | table | key | value |
//! |---|---|---|
//! | `content-names` | number, 8 bytes, big-endian | the day on which it was kept last, days since 1970, 4 bytes, big-endian; the text |
//! | `meta` | `content_names` | there: contents are named by texts |

use fjall::{Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, Readable, Snapshot};

use crate::hot_store::codec::DecodeError;
use crate::hot_store::tables::{ReadError, Tables};
use model::content_name::ContentName;

const MEMTABLE_BYTES: u64 = 8 << 20;
const MARK: &str = "content_names";

#[derive(Clone)]
pub struct ContentNameTable {
    texts: Keyspace,
}

/// A text, and the day on which it was kept last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptText {
    pub day: u32,
    pub name: ContentName,
}

impl ContentNameTable {
    /// Whether it was ever opened here.
    pub fn is_kept(tables: &Tables) -> fjall::Result<bool> {
        tables.meta.contains_key(MARK)
    }

    pub fn open(tables: &Tables) -> fjall::Result<Self> {
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        if !Self::is_kept(tables)? {
            let mut batch = tables.durable_batch(1);
            batch.insert(&tables.meta, MARK, b"1");
            batch.commit()?;
        }
        Ok(ContentNameTable { texts: tables.database.keyspace("content-names", options)? })
    }

    pub fn get(&self, snapshot: &Snapshot, oid: u64) -> Result<Option<KeptText>, ReadError> {
        let bytes = snapshot.get(&self.texts, oid.to_be_bytes())?;
        bytes.map(|bytes| Ok(parse(&bytes)?)).transpose()
    }

    pub fn put(&self, batch: &mut OwnedWriteBatch, oid: u64, text: &KeptText) {
        let value = [&text.day.to_be_bytes(), text.name.as_str().as_bytes()].concat();
        batch.insert(&self.texts, oid.to_be_bytes(), value);
    }

    pub fn remove(&self, batch: &mut OwnedWriteBatch, oid: u64) {
        batch.remove(&self.texts, oid.to_be_bytes());
    }

    /// As many texts as `count` from this number on.
    pub fn from(&self, snapshot: &Snapshot, oid: u64, count: usize) -> Result<Vec<(u64, KeptText)>, ReadError> {
        let rows = snapshot.range(&self.texts, oid.to_be_bytes()..).take(count);
        rows.map(|row| {
            let (key, value) = row.into_inner()?;
            let oid = <[u8; 8]>::try_from(&*key).map_err(|_| DecodeError::of("the number of a content".to_owned()))?;
            Ok((u64::from_be_bytes(oid), parse(&value)?))
        })
        .collect()
    }
}

fn parse(bytes: &[u8]) -> Result<KeptText, DecodeError> {
    let name = |text| std::str::from_utf8(text).ok().and_then(|text| ContentName::new(text).ok());
    let parsed = bytes.split_first_chunk().and_then(|(day, text)| Some((u32::from_be_bytes(*day), name(text)?)));
    let (day, name) = parsed.ok_or_else(|| DecodeError::of("the text of a content".to_owned()))?;
    Ok(KeptText { day, name })
}
