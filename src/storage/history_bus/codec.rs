//! Packs as bytes, and back.
//!
//! Decoding is strict: values that the hot store cannot have written are left out of the pack, so that the history store
//! need not check them and the other users of the pack are written all the same ([`Unsound`]). What is no pack at all is a
//! [`DecodeError`]. Fields of a later version are left out.

use std::sync::Arc;

use prost::Message;
use prost::encoding::{encoded_len_varint, key_len};

use super::MESSAGE_BYTES_MAX;
use super::wire::{WireContent, WireForgetting, WirePack, WireRecord, WireRow, WireUser};
use model::beat::{DEVICE_BYTES_MAX, MILLIS_MAX, State};
use model::ids::{Content, SessionId, UserId};
use model::pack::{Pack, PackedForgetting, PackedRecord, PackedRow, UserPack};
use model::recording::{Recording, Switch};
use model::retention::Retention;
use model::shard::{Region, Shards};
use model::version::Version;

/// The version of the format. A change that an older reader would misread increments it.
const FORMAT: u32 = 1;

/// Later stores write by a version, which is a signed number there.
const VERSION_MAX: u64 = i64::MAX as u64;
const DEPLOYMENT_BYTES_MAX: usize = 64;

const USERS_TAG: u32 = 4;
const ROWS_TAG: u32 = 3;

/// Bytes that are no pack of this version; why not, for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(String);

/// A part of a pack that the hot store cannot have written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsound {
    /// For the operator.
    pub why: String,
    /// The part alone, as a pack.
    pub bytes: Vec<u8>,
}

pub fn encode(pack: &Pack) -> Vec<u8> {
    let users = pack.users.iter().map(WireUser::from).collect();
    WirePack { users, ..head(&pack.deployment, pack.region, pack.retention) }.encode_to_vec()
}

/// The length of a pack without users.
pub fn head_len(deployment: &str, region: Region, retention: Option<Retention>) -> usize {
    head(deployment, region, retention).encoded_len()
}

/// The bytes that this user adds to a pack.
pub fn user_len(user: &UserPack) -> usize {
    framed(USERS_TAG, WireUser::from(user).encoded_len())
}

/// Cuts a user into parts that each add at most `bytes_max` to a pack, but at least one row. What the user forgets is
/// in the first, and the rows keep their order.
pub fn split(user: UserPack, bytes_max: usize) -> Vec<UserPack> {
    if user_len(&user) <= bytes_max {
        return vec![user];
    }
    let UserPack { user, forgetting, rows } = user;
    let part = |forgetting| UserPack { user, forgetting, rows: Vec::new() };
    let len = |part: &UserPack| WireUser::from(part).encoded_len();
    let (empty_len, mut parts) = (len(&part(None)), vec![part(forgetting)]);
    let mut part_len = len(&parts[0]);
    for row in rows {
        let row_len = framed(ROWS_TAG, WireRow::from(&row).encoded_len());
        let last = parts.last().expect("there is a first part");
        let has_some = last.forgetting.is_some() || !last.rows.is_empty();
        if has_some && framed(USERS_TAG, part_len + row_len) > bytes_max {
            parts.push(part(None));
            part_len = empty_len;
        }
        part_len += row_len;
        parts.last_mut().expect("there is a first part").rows.push(row);
    }
    parts
}

/// A pack that is sound as a whole.
pub fn decode(bytes: &[u8]) -> Result<Pack, DecodeError> {
    let (pack, unsound) = decode_sound(bytes)?;
    match unsound.into_iter().next() {
        Some(unsound) => Err(DecodeError(unsound.why)),
        None => Ok(pack),
    }
}

/// Splits off the unsound parts of a user, which any decoder would leave out. Returns the sound rest, and the faults.
pub fn sound(pack: UserPack) -> (UserPack, Vec<String>) {
    let UserPack { user, forgetting, rows } = pack;
    let mut faults = Vec::new();
    let forgetting = forgetting.filter(|known| match self::forgetting(WireForgetting::from(known)) {
        Ok(_) => true,
        Err(DecodeError(why)) => {
            faults.push(why);
            false
        }
    });
    let is_sound = |known: &PackedRow| match row(WireRow::from(known)) {
        Ok(_) => true,
        Err(DecodeError(why)) => {
            faults.push(format!("content {}:{}: {why}", known.content.kind, known.content.oid));
            false
        }
    };
    let rows = rows.into_iter().filter(is_sound).collect();
    (UserPack { user, forgetting, rows }, faults)
}

/// A pack without what is unsound in it, and that.
pub fn decode_sound(bytes: &[u8]) -> Result<(Pack, Vec<Unsound>), DecodeError> {
    require(bytes.len() <= MESSAGE_BYTES_MAX, || {
        format!("is {} bytes long; at most {MESSAGE_BYTES_MAX}", bytes.len())
    })?;
    let WirePack { format, deployment, region, users, retention } =
        WirePack::decode(bytes).map_err(|error| DecodeError(error.to_string()))?;
    require(format == FORMAT, || format!("format is {format}, not {FORMAT}"))?;
    let named = (1..=DEPLOYMENT_BYTES_MAX).contains(&deployment.len());
    require(named, || format!("deployment has {} bytes; 1 to {DEPLOYMENT_BYTES_MAX}", deployment.len()))?;
    require(region < Region::COUNT.into(), || format!("region is {region}; at most {}", Region::COUNT - 1))?;
    let region = Region(region as u16);
    let retention = (retention > 0).then_some(Retention::of_ms(retention.min(MILLIS_MAX)));
    let (mut sound, mut unsound) = (Vec::with_capacity(users.len()), Vec::new());
    for user in users {
        let mid = user.mid;
        let mut leave_out = |user: WireUser, DecodeError(why): DecodeError| {
            let bytes = WirePack { users: vec![user], ..head(&deployment, region, retention) }.encode_to_vec();
            unsound.push(Unsound { why: format!("user {mid}: {why}"), bytes });
        };
        sound.extend(self::user(user, region, &mut leave_out));
    }
    Ok((Pack { deployment: deployment.into(), region, retention, users: sound }, unsound))
}

fn head(deployment: &str, region: Region, retention: Option<Retention>) -> WirePack {
    WirePack {
        format: FORMAT,
        deployment: deployment.to_owned(),
        region: region.0.into(),
        users: Vec::new(),
        retention: retention.map_or(0, Retention::ms),
    }
}

/// The length of a message of this length as a field.
fn framed(tag: u32, len: usize) -> usize {
    key_len(tag) + encoded_len_varint(len as u64) + len
}

/// Decodes the sound parts of a user; each unsound part goes to `leave_out` by itself. `None` if no part is sound.
fn user(wire: WireUser, region: Region, leave_out: &mut impl FnMut(WireUser, DecodeError)) -> Option<UserPack> {
    let (mid, user) = (wire.mid, UserId(wire.mid));
    let home = Shards::DEFAULT.of(user).region();
    if let Err(error) = require(home == region, || format!("is of region {}, not {}", home.0, region.0)) {
        leave_out(wire, error);
        return None;
    }
    let part = |forgetting, rows| WireUser { mid, forgetting, rows };
    let is_empty = wire.forgetting.is_none() && wire.rows.is_empty();
    let mut rows = Vec::with_capacity(wire.rows.len());
    for (index, row) in wire.rows.into_iter().enumerate() {
        match self::row(row.clone()) {
            Ok(sound) => rows.push(sound),
            Err(DecodeError(why)) => {
                leave_out(part(None, vec![row]), DecodeError(format!("row {}: {why}", index + 1)));
            }
        }
    }
    let forgetting = wire.forgetting.and_then(|forgetting| match self::forgetting(forgetting.clone()) {
        Ok(sound) => Some(sound),
        Err(error) => {
            leave_out(part(Some(forgetting), Vec::new()), error);
            None
        }
    });
    (is_empty || forgetting.is_some() || !rows.is_empty()).then_some(UserPack { user, forgetting, rows })
}

fn forgetting(wire: WireForgetting) -> Result<PackedForgetting, DecodeError> {
    let WireForgetting { watermark, floor, switches, version } = wire;
    require(switches.len() <= Recording::SWITCHES_MAX, || {
        format!("has {} switches; at most {}", switches.len(), Recording::SWITCHES_MAX)
    })?;
    let switches: Vec<Switch> = switches.iter().map(|switch| Switch { at: switch.at, paused: switch.paused }).collect();
    millis("watermark", watermark)?;
    millis("floor", floor)?;
    switches.iter().try_for_each(|switch| millis("switch", switch.at))?;
    let version = self::version(version)?;
    Ok(PackedForgetting { watermark, floor, switches, version })
}

fn row(wire: WireRow) -> Result<PackedRow, DecodeError> {
    let WireRow { content, record, tombstone, version } = wire;
    let Some(WireContent { kind: Some(kind), oid: Some(oid) }) = content else {
        return Err(DecodeError("content is not complete".to_owned()));
    };
    let kind = u16::try_from(kind).map_err(|_| DecodeError(format!("kind is {kind}; at most {}", u16::MAX)))?;
    require(record.is_some() || tombstone != 0, || "has neither a record nor a tombstone".to_owned())?;
    millis("tombstone", tombstone)?;
    let version = self::version(version)?;
    let record = record.map(self::record).transpose()?;
    Ok(PackedRow { content: Content { kind, oid }, record, tombstone, version })
}

fn record(wire: WireRecord) -> Result<PackedRecord, DecodeError> {
    let WireRecord { pos, dur, state, session, device, watched, at } = wire;
    let known = u8::try_from(state).ok().and_then(State::of_number);
    let state = known.ok_or_else(|| DecodeError(format!("state is {state}")))?;
    for (name, number) in [("pos", pos), ("dur", dur), ("watched", watched), ("at", at)] {
        millis(name, number)?;
    }
    require(device.len() <= DEVICE_BYTES_MAX, || {
        format!("device has {} bytes; at most {DEVICE_BYTES_MAX}", device.len())
    })?;
    Ok(PackedRecord { pos, dur, state, session: SessionId(session), device: Arc::from(device), watched, at })
}

fn millis(name: &str, number: u64) -> Result<(), DecodeError> {
    require(number <= MILLIS_MAX, || format!("{name} is {number}; at most {MILLIS_MAX}"))
}

fn version(version: u64) -> Result<Version, DecodeError> {
    require((1..=VERSION_MAX).contains(&version), || format!("version is {version}; 1 to {VERSION_MAX}"))?;
    Ok(Version(version))
}

fn require(holds: bool, message: impl FnOnce() -> String) -> Result<(), DecodeError> {
    if holds { Ok(()) } else { Err(DecodeError(message())) }
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
