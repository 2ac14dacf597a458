//! The statements, and the values bound to them.
//!
//! Every write of a row sets all of its columns, with one timestamp: its version. So of two writes of a row one wins in
//! all columns, and no row is ever made of two. Equal versions are the same row; or one of them has lost its record,
//! and of equal timestamps Cassandra takes the null.

use std::sync::Arc;

use scylla::client::session::Session;
use scylla::errors::PrepareError;
use scylla::serialize::SerializationError;
use scylla::serialize::row::{RowSerializationContext, SerializeRow};
use scylla::serialize::writers::RowWriter;
use scylla::statement::prepared::PreparedStatement;
use scylla::{DeserializeRow, SerializeRow};

use super::lifetime::Lifetime;
use super::table::TABLE;
use model::ids::UserId;
use model::pack::{PackedForgetting, PackedRow};
use model::version::Version;

/// Rows of one answer to a read. Cassandra counts the nulls of deleted rows against the tombstones of an answer
/// (tombstone_failure_threshold, 100,000): seven for each.
const PAGE_ROWS: i32 = 1_000;

pub(super) struct Statements {
    clear: PreparedStatement,
    forget: PreparedStatement,
    put: PreparedStatement,
    pub select: PreparedStatement,
}

/// One statement of a batch.
pub(super) enum Write {
    Clear(ClearValues),
    Forget(ForgetValues),
    Put(PutValues),
}

/// Removes the rows up to the watermark.
#[derive(SerializeRow)]
pub(super) struct ClearValues {
    mid: i64,
    timestamp: i64,
}

#[derive(SerializeRow)]
pub(super) struct ForgetValues {
    mid: i64,
    timestamp: i64,
    ttl: i32,
    watermark: Option<i64>,
    floor: Option<i64>,
    switches: Option<Vec<(i64, bool)>>,
    forgotten: Option<i64>,
}

#[derive(SerializeRow)]
pub(super) struct PutValues {
    mid: i64,
    timestamp: i64,
    ttl: i32,
    kind: i32,
    oid: i64,
    pos: Option<i64>,
    dur: Option<i64>,
    state: Option<i8>,
    session: Option<i64>,
    device: Option<Arc<str>>,
    watched: Option<i64>,
    at: Option<i64>,
    tombstone: i64,
    version: i64,
}

/// A row that is there, with the static columns.
#[derive(DeserializeRow)]
pub(super) struct Selected {
    pub watermark: Option<i64>,
    pub floor: Option<i64>,
    pub switches: Option<Vec<(i64, bool)>>,
    pub forgotten: Option<i64>,
    /// `None`: the user has no rows, only static columns.
    pub kind: Option<i32>,
    pub oid: Option<i64>,
    pub pos: Option<i64>,
    pub dur: Option<i64>,
    pub state: Option<i8>,
    pub session: Option<i64>,
    pub device: Option<String>,
    pub watched: Option<i64>,
    pub at: Option<i64>,
    pub tombstone: Option<i64>,
    pub version: Option<i64>,
}

impl Statements {
    pub async fn prepare(session: &Session, keyspace: &str) -> Result<Self, PrepareError> {
        // A range of rows, not the partition: the deletion of a partition takes the static columns along.
        let clear = format!("DELETE FROM {keyspace}.{TABLE} USING TIMESTAMP :timestamp WHERE mid = :mid AND kind >= 0");
        let forget = format!(
            "UPDATE {keyspace}.{TABLE} USING TIMESTAMP :timestamp AND TTL :ttl SET watermark = :watermark, floor = :floor, \
             switches = :switches, forgotten = :forgotten WHERE mid = :mid"
        );
        // INSERT, not UPDATE: its cells share the timestamp and TTL of the row, which takes less room.
        let put = format!(
            "INSERT INTO {keyspace}.{TABLE} (mid, kind, oid, pos, dur, state, session, device, watched, at, tombstone, \
             version) VALUES (:mid, :kind, :oid, :pos, :dur, :state, :session, :device, :watched, :at, :tombstone, \
             :version) USING TIMESTAMP :timestamp AND TTL :ttl"
        );
        let select = format!(
            "SELECT watermark, floor, switches, forgotten, kind, oid, pos, dur, state, session, device, watched, at, \
             tombstone, version FROM {keyspace}.{TABLE} WHERE mid = ?"
        );
        let prepare = async |text: String| {
            let mut statement = session.prepare(text).await?;
            // By their timestamps writes may be repeated, by the driver, too.
            statement.set_is_idempotent(true);
            Ok::<_, PrepareError>(statement)
        };
        let mut select = prepare(select).await?;
        select.set_page_size(PAGE_ROWS);
        Ok(Statements {
            clear: prepare(clear).await?,
            forget: prepare(forget).await?,
            put: prepare(put).await?,
            select,
        })
    }

    pub fn of(&self, write: &Write) -> &PreparedStatement {
        match write {
            Write::Clear(_) => &self.clear,
            Write::Forget(_) => &self.forget,
            Write::Put(_) => &self.put,
        }
    }
}

impl Write {
    /// Removes rows up to the watermark. Rows of moments up to it have no higher version than the timestamp of this.
    pub fn clear(user: UserId, watermark: u64) -> Self {
        Write::Clear(ClearValues { mid: signed(user.0), timestamp: signed(Version::last_of(watermark).0) })
    }

    /// One of which nothing is left removes what older ones have left.
    pub fn forget(user: UserId, forgetting: &PackedForgetting, lifetime: Lifetime) -> Self {
        let PackedForgetting { watermark, floor, ref switches, version } = *forgetting;
        let is_kept = lifetime != Lifetime::Over;
        let switches = || switches.iter().map(|switch| (signed(switch.at), switch.paused)).collect();
        Write::Forget(ForgetValues {
            mid: signed(user.0),
            timestamp: signed(version.0),
            ttl: lifetime.ttl(),
            watermark: is_kept.then_some(signed(watermark)),
            floor: is_kept.then_some(signed(floor)),
            switches: is_kept.then(switches),
            forgotten: is_kept.then_some(signed(version.0)),
        })
    }

    pub fn put(user: UserId, row: &PackedRow, lifetime: Lifetime) -> Self {
        let record = row.record.as_ref();
        Write::Put(PutValues {
            mid: signed(user.0),
            timestamp: signed(row.version.0),
            ttl: lifetime.ttl(),
            kind: row.content.kind.into(),
            oid: signed(row.content.oid),
            pos: record.map(|record| signed(record.pos)),
            dur: record.map(|record| signed(record.dur)),
            state: record.map(|record| record.state.number() as i8),
            session: record.map(|record| signed(record.session.0)),
            device: record.map(|record| record.device.clone()),
            watched: record.map(|record| signed(record.watched)),
            at: record.map(|record| signed(record.at)),
            tombstone: signed(row.tombstone),
            version: signed(row.version.0),
        })
    }

    /// About the bytes of the statement in a request.
    pub fn bytes(&self) -> usize {
        const VALUE: usize = 4 + 8;
        match self {
            Write::Clear(_) => 2 * VALUE,
            Write::Forget(values) => 7 * VALUE + values.switches.as_ref().map_or(0, |switches| switches.len() * 21),
            Write::Put(values) => 14 * VALUE + values.device.as_ref().map_or(0, |device| device.len()),
        }
    }
}

impl SerializeRow for Write {
    fn serialize(&self, context: &RowSerializationContext, to: &mut RowWriter) -> Result<(), SerializationError> {
        match self {
            Write::Clear(values) => values.serialize(context, to),
            Write::Forget(values) => values.serialize(context, to),
            Write::Put(values) => values.serialize(context, to),
        }
    }

    fn is_empty(&self) -> bool {
        false
    }
}

/// The signed number with the same 64 bits.
pub(super) fn signed(number: u64) -> i64 {
    number as i64
}

/// The unsigned number with the same 64 bits.
pub(super) fn unsigned(number: i64) -> u64 {
    number as u64
}
