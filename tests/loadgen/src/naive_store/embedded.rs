//! One entry and one fdatasync per beat, in the same kind of database as the gateway's own store. fjall lets one writer
//! in at a time; other writers block their threads.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};
use heartline::model::beat::Beat;
use heartline::model::ids::{Content, UserId};

use super::Row;

pub struct Embedded {
    database: Database,
    records: Keyspace,
}

impl Embedded {
    pub fn open(path: &Path) -> Result<Self, String> {
        let database = Database::builder(path).open().map_err(told)?;
        let records = database.keyspace("records", KeyspaceCreateOptions::default).map_err(told)?;
        Ok(Embedded { database, records })
    }

    /// Returns after the beat is on disk.
    pub fn write(&self, user: UserId, beat: &Beat) -> Result<(), String> {
        let mut batch =
            OwnedWriteBatch::with_capacity(self.database.clone(), 1).durability(Some(PersistMode::SyncData));
        batch.insert(&self.records, key(user, beat.content), Row::of(beat).bytes());
        batch.commit().map_err(told)
    }

    pub fn read(&self, user: UserId, content: Content) -> Result<Option<Row>, String> {
        let Some(value) = self.records.get(key(user, content)).map_err(told)? else { return Ok(None) };
        Row::parse(&value).map(Some)
    }
}

fn key(user: UserId, content: Content) -> Vec<u8> {
    [&user.0.to_be_bytes()[..], &content.kind.to_be_bytes(), &content.oid.to_be_bytes()].concat()
}

fn told(error: fjall::Error) -> String {
    format!("the naive store: {error}")
}
