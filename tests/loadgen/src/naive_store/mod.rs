//! The store of the naive gateway: each beat is written by itself, durably before its ack.

mod embedded;
mod redis;

use std::path::PathBuf;
use std::sync::Arc;

use heartline::model::beat::Beat;
use heartline::model::ids::{Content, UserId};
use serde::{Deserialize, Serialize};

use self::embedded::Embedded;
use self::redis::Redis;

/// The kind of the store.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum Place {
    Directory(PathBuf),
    /// `HOST:PORT`.
    Redis(String),
}

#[derive(Clone)]
pub enum NaiveStore {
    Embedded(Arc<Embedded>),
    Redis(Arc<Redis>),
}

/// The stored part of a beat.
#[derive(Debug, PartialEq)]
pub struct Row {
    pub pos: u64,
    pub dur: u64,
    pub session: u64,
    pub watched: u64,
    pub at: u64,
}

impl NaiveStore {
    pub fn open(place: &Place) -> Result<Self, String> {
        Ok(match place {
            Place::Directory(path) => NaiveStore::Embedded(Arc::new(Embedded::open(path)?)),
            Place::Redis(address) => NaiveStore::Redis(Arc::new(Redis::at(address)?)),
        })
    }

    /// Returns after the beat is on disk.
    pub async fn write(&self, user: UserId, beat: &Beat) -> Result<(), String> {
        match self {
            NaiveStore::Embedded(store) => store.write(user, beat),
            NaiveStore::Redis(store) => store.write(user, beat).await,
        }
    }

    pub async fn read(&self, user: UserId, content: Content) -> Result<Option<Row>, String> {
        match self {
            NaiveStore::Embedded(store) => store.read(user, content),
            NaiveStore::Redis(store) => store.read(user, content).await,
        }
    }
}

impl Row {
    fn of(beat: &Beat) -> Self {
        Row { pos: beat.pos, dur: beat.dur, session: beat.session.0, watched: beat.watched_ms(), at: beat.at }
    }

    fn bytes(&self) -> Vec<u8> {
        [self.pos, self.dur, self.session, self.watched, self.at].into_iter().flat_map(u64::to_be_bytes).collect()
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let (numbers, _) = bytes.as_chunks::<8>();
        let [pos, dur, session, watched, at] = numbers else { return Err("a row of another length".to_owned()) };
        let number = |bytes: &[u8; 8]| u64::from_be_bytes(*bytes);
        let (pos, dur, session, watched, at) = (number(pos), number(dur), number(session), number(watched), number(at));
        Ok(Row { pos, dur, session, watched, at })
    }
}
