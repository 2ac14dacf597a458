//! Packs, which carry changes from the hot store to the history store: whole rows of users, which can be written in any
//! order and any number of times.

use std::sync::Arc;

use super::beat::State;
use super::forgetting::{ContentRow, UserRow};
use super::ids::{Content, SessionId, UserId};
use super::record::Record;
use super::recording::{Recording, Switch};
use super::retention::Retention;
use super::rewards::credit::Credit;
use super::shard::Region;
use super::version::Version;

/// Users of one region.
#[derive(Clone, Debug, PartialEq)]
pub struct Pack {
    /// The id of the hot store that the users are of.
    pub deployment: Arc<str>,
    pub region: Region,
    /// That of the gateway; `None`: it does not say, since it is of an older version.
    pub retention: Option<Retention>,
    pub users: Vec<UserPack>,
}

/// The possible changes of a user since the user's last pack.
#[derive(Clone, Debug, PartialEq)]
pub struct UserPack {
    pub user: UserId,
    /// `None`: no clears or pauses, or none since the last pack.
    pub forgetting: Option<PackedForgetting>,
    pub rows: Vec<PackedRow>,
}

/// The clears and pauses of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedForgetting {
    /// Server-clock milliseconds; 0 = never cleared.
    pub watermark: u64,
    pub floor: u64,
    pub switches: Vec<Switch>,
    /// That of the token under which it was read.
    pub version: Version,
}

/// One content of a user.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedRow {
    pub content: Content,
    /// `None`: deleted.
    pub record: Option<PackedRecord>,
    /// Server-clock milliseconds; 0 = none.
    pub tombstone: u64,
    /// The newest of the record and the tombstone.
    pub version: Version,
}

/// A record without what only the hot store needs. The units are those of [`Record`].
#[derive(Clone, Debug, PartialEq)]
pub struct PackedRecord {
    pub pos: u64,
    pub dur: u64,
    pub state: State,
    pub session: SessionId,
    pub device: Arc<str>,
    pub watched: u64,
    pub at: u64,
}

impl PackedForgetting {
    /// `None`: the user has forgotten nothing.
    pub fn of(row: &UserRow, version: Version) -> Option<Self> {
        let switches = row.recording.switches().to_vec();
        let is_empty = row.watermark == 0 && row.floor == 0 && switches.is_empty();
        (!is_empty).then_some(PackedForgetting { watermark: row.watermark, floor: row.floor, switches, version })
    }

    /// Without data that have expired by the horizon, milliseconds; `None`: all have. An open pause never expires.
    pub fn unexpired(self, horizon: u64) -> Option<Self> {
        let recording = Recording::from_parts(self.switches, 0);
        let mut user = UserRow { watermark: self.watermark, floor: self.floor, recording, ..UserRow::default() };
        user.prune(horizon);
        PackedForgetting::of(&user, self.version)
    }
}

impl PackedRow {
    pub fn of(content: Content, row: &ContentRow) -> Self {
        PackedRow {
            content,
            record: row.record.as_ref().map(PackedRecord::of),
            tombstone: row.tombstone.map_or(0, |tombstone| tombstone.at),
            version: row.last_version(),
        }
    }

    /// The newest moment that the content is known by, server-clock milliseconds: it expires a retention later.
    pub fn newest(&self) -> u64 {
        self.record.as_ref().map_or(0, |record| record.at).max(self.tombstone)
    }
}

impl PackedRecord {
    pub fn of(record: &Record) -> Self {
        let Record { pos, dur, state, session, ref device, watched, at, .. } = *record;
        PackedRecord { pos, dur, state, session, device: device.clone(), watched, at }
    }

    /// The record of this content, under this version. It has earned no rewards.
    pub fn record(&self, content: Content, version: Version) -> Record {
        let PackedRecord { pos, dur, state, session, ref device, watched, at } = *self;
        let (device, credit) = (device.clone(), Credit::default());
        Record { content, pos, dur, state, session, device, watched, at, version, credit }
    }
}
