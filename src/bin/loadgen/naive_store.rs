//! Where the naive gateway keeps things: one entry and one fdatasync a beat, in the same database as the gateway's own
//! store. fjall lets one writer in at a time; the others wait for it, and their threads with them.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};
use heartline::model::beat::Beat;
use heartline::model::ids::{Content, UserId};

pub struct NaiveStore {
    database: Database,
    records: Keyspace,
}

#[derive(Debug, PartialEq)]
pub struct Row {
    pub pos: u64,
    pub dur: u64,
    pub session: u64,
    pub watched: u64,
    pub at: u64,
}

impl NaiveStore {
    pub fn open(path: &Path) -> Result<Self, String> {
        let database = Database::builder(path).open().map_err(told)?;
        let records = database.keyspace("records", KeyspaceCreateOptions::default).map_err(told)?;
        Ok(NaiveStore { database, records })
    }

    /// It is on disk when this returns.
    pub fn write(&self, user: UserId, beat: &Beat) -> Result<(), String> {
        let numbers = [beat.pos, beat.dur, beat.session.0, beat.watched, beat.at];
        let value: Vec<u8> = numbers.into_iter().flat_map(u64::to_be_bytes).collect();
        let mut batch =
            OwnedWriteBatch::with_capacity(self.database.clone(), 1).durability(Some(PersistMode::SyncData));
        batch.insert(&self.records, key(user, beat.content), value);
        batch.commit().map_err(told)
    }

    pub fn read(&self, user: UserId, content: Content) -> Result<Option<Row>, String> {
        let Some(value) = self.records.get(key(user, content)).map_err(told)? else { return Ok(None) };
        let (numbers, _) = value.as_chunks::<8>();
        let [pos, dur, session, watched, at] = numbers else { return Err("a row of another length".to_owned()) };
        let number = |bytes: &[u8; 8]| u64::from_be_bytes(*bytes);
        let (pos, dur, session, watched, at) = (number(pos), number(dur), number(session), number(watched), number(at));
        Ok(Some(Row { pos, dur, session, watched, at }))
    }
}

fn key(user: UserId, content: Content) -> Vec<u8> {
    [&user.0.to_be_bytes()[..], &content.kind.to_be_bytes(), &content.oid.to_be_bytes()].concat()
}

fn told(error: fjall::Error) -> String {
    format!("the naive store: {error}")
}
