//! The row of a content as a protobuf message, so that fields can be added: as a store keeps it, and as gateways tell
//! each other of it.
//!
//! The content itself is not in it: in a store it is in the key. A version is kept as its distance from the smallest
//! one its `at` allows, which is nearly always 0 and then takes no byte.

use std::sync::Arc;

use prost::Message;

use model::beat::State;
use model::forgetting::{ContentRow, Tombstone};
use model::ids::{Content, SessionId};
use model::record::Record;
use model::rewards::credit::Credit;
use model::rewards::day::Day;
use model::version::Version;

#[derive(Clone, PartialEq, Message)]
pub struct StoredContent {
    /// 0 = there is no record; else the number of its [`State`].
    #[prost(uint32, tag = "1")]
    state: u32,
    #[prost(uint64, tag = "2")]
    pos: u64,
    #[prost(uint64, tag = "3")]
    dur: u64,
    #[prost(fixed64, tag = "4")]
    session: u64,
    #[prost(string, tag = "5")]
    device: String,
    #[prost(uint64, tag = "6")]
    watched: u64,
    #[prost(uint64, tag = "7")]
    at: u64,
    /// Above the first version of `at`.
    #[prost(uint64, tag = "8")]
    version_above: u64,
    #[prost(uint64, optional, tag = "9")]
    tombstone_at: Option<u64>,
    /// Above the last version of `tombstone_at`.
    #[prost(uint64, tag = "10")]
    tombstone_version_above: u64,
    /// The day of the credit, since 1970-01-01.
    #[prost(uint32, tag = "11")]
    credit_day: u32,
    /// Before `at`.
    #[prost(sint64, tag = "12")]
    credit_since: i64,
    #[prost(uint64, tag = "13")]
    credit_base: u64,
}

/// A field that holds what is never written.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} {found}")]
pub struct Unknown {
    field: &'static str,
    found: u32,
}

impl StoredContent {
    pub fn of(record: &Record) -> Self {
        let mut stored = StoredContent::default();
        stored.set_record(record);
        stored
    }

    /// Becomes this row, whatever it was; the memory that it has is used again.
    pub fn set(&mut self, row: &ContentRow) {
        self.clear();
        row.record.iter().for_each(|record| self.set_record(record));
        if let Some(tombstone) = row.tombstone {
            self.tombstone_at = Some(tombstone.at);
            self.tombstone_version_above = tombstone.version.above(Version::last_of(tombstone.at));
        }
    }

    fn set_record(&mut self, record: &Record) {
        self.state = record.state.number().into();
        self.pos = record.pos;
        self.dur = record.dur;
        self.session = record.session.0;
        self.device.push_str(&record.device);
        self.watched = record.watched;
        self.at = record.at;
        self.credit_day = record.credit.day.number().into();
        self.credit_since = record.at.wrapping_sub(record.credit.since) as i64;
        self.credit_base = record.credit.base;
        self.version_above = record.version.above(Version::first_of(record.at));
    }

    pub fn row(self, content: Content) -> Result<ContentRow, Unknown> {
        let above = self.tombstone_version_above;
        let tombstone = self.tombstone_at.map(|at| Tombstone { at, version: Version::last_of(at).raised(above) });
        let record = (self.state != 0).then(|| self.record(content)).transpose()?;
        Ok(ContentRow { record, tombstone })
    }

    fn record(self, content: Content) -> Result<Record, Unknown> {
        let state = u8::try_from(self.state).ok().and_then(State::of_number);
        let day = u16::try_from(self.credit_day).map_err(|_| Unknown { field: "day", found: self.credit_day })?;
        Ok(Record {
            content,
            pos: self.pos,
            dur: self.dur,
            state: state.ok_or(Unknown { field: "state", found: self.state })?,
            session: SessionId(self.session),
            device: Arc::from(self.device),
            watched: self.watched,
            at: self.at,
            version: Version::first_of(self.at).raised(self.version_above),
            credit: Credit {
                day: Day::of_number(day),
                since: self.at.wrapping_sub_signed(self.credit_since),
                base: self.credit_base,
            },
        })
    }
}
