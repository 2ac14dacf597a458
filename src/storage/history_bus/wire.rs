//! A pack as a protobuf message. Other programs read it, too: the numbers of fields are final.

use prost::Message;

use model::ids::Content;
use model::pack::{PackedForgetting, PackedRecord, PackedRow, UserPack};
use model::recording::Switch;

#[derive(Clone, PartialEq, Message)]
pub struct WirePack {
    #[prost(uint32, tag = "1")]
    pub format: u32,
    #[prost(string, tag = "2")]
    pub deployment: String,
    #[prost(uint32, tag = "3")]
    pub region: u32,
    #[prost(message, repeated, tag = "4")]
    pub users: Vec<WireUser>,
    /// Milliseconds; 0 = of an older version.
    #[prost(uint64, tag = "5")]
    pub retention: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct WireUser {
    #[prost(uint64, tag = "1")]
    pub mid: u64,
    #[prost(message, optional, tag = "2")]
    pub forgetting: Option<WireForgetting>,
    #[prost(message, repeated, tag = "3")]
    pub rows: Vec<WireRow>,
}

#[derive(Clone, PartialEq, Message)]
pub struct WireForgetting {
    #[prost(uint64, tag = "1")]
    pub watermark: u64,
    #[prost(uint64, tag = "2")]
    pub floor: u64,
    #[prost(message, repeated, tag = "3")]
    pub switches: Vec<WireSwitch>,
    #[prost(uint64, tag = "4")]
    pub version: u64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct WireSwitch {
    #[prost(uint64, tag = "1")]
    pub at: u64,
    #[prost(bool, tag = "2")]
    pub paused: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct WireRow {
    #[prost(message, optional, tag = "1")]
    pub content: Option<WireContent>,
    /// Absent: deleted.
    #[prost(message, optional, tag = "2")]
    pub record: Option<WireRecord>,
    /// 0 = none.
    #[prost(uint64, tag = "3")]
    pub tombstone: u64,
    #[prost(uint64, tag = "4")]
    pub version: u64,
}

/// Both are required: 0 is written, and absent is an error.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct WireContent {
    #[prost(uint32, optional, tag = "1")]
    pub kind: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub oid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct WireRecord {
    #[prost(uint64, tag = "1")]
    pub pos: u64,
    #[prost(uint64, tag = "2")]
    pub dur: u64,
    /// The number of a [`State`](model::beat::State).
    #[prost(int32, tag = "3")]
    pub state: i32,
    #[prost(fixed64, tag = "4")]
    pub session: u64,
    #[prost(string, tag = "5")]
    pub device: String,
    #[prost(uint64, tag = "6")]
    pub watched: u64,
    #[prost(uint64, tag = "7")]
    pub at: u64,
}

impl From<&UserPack> for WireUser {
    fn from(user: &UserPack) -> Self {
        WireUser {
            mid: user.user.0,
            forgetting: user.forgetting.as_ref().map(WireForgetting::from),
            rows: user.rows.iter().map(WireRow::from).collect(),
        }
    }
}

impl From<&PackedForgetting> for WireForgetting {
    fn from(forgetting: &PackedForgetting) -> Self {
        let PackedForgetting { watermark, floor, ref switches, version } = *forgetting;
        let switches = switches.iter().map(|&Switch { at, paused }| WireSwitch { at, paused }).collect();
        WireForgetting { watermark, floor, switches, version: version.0 }
    }
}

impl From<&PackedRow> for WireRow {
    fn from(row: &PackedRow) -> Self {
        let Content { kind, oid } = row.content;
        WireRow {
            content: Some(WireContent { kind: Some(kind.into()), oid: Some(oid) }),
            record: row.record.as_ref().map(WireRecord::from),
            tombstone: row.tombstone,
            version: row.version.0,
        }
    }
}

impl From<&PackedRecord> for WireRecord {
    fn from(record: &PackedRecord) -> Self {
        let PackedRecord { pos, dur, state, session, ref device, watched, at } = *record;
        let (state, device) = (state.number().into(), device.to_string());
        WireRecord { pos, dur, state, session: session.0, device, watched, at }
    }
}
