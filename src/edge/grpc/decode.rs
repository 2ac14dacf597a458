//! Messages to values, with the rules of frames. What is wrong is named by the path of its field.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;

use tonic::Status;

use super::wire;
use crate::auth::User;
use crate::protocol::json::decode_connection;
use crate::protocol::whom::Whom;
use model::beat::{Beat, DEVICE_BYTES_MAX, MILLIS_MAX, State};
use model::content_name::{ContentIds, ContentName};
use model::ids::{ConnectionId, Content, SessionId, UserId};
use model::rewards::day::Day;
use model::user_name::UserName;

/// Beats of one `Put`, and entries.
const BEATS_MAX: usize = 5_000;
/// Beats of one user in it.
const BEATS_OF_USER_MAX: usize = 500;

/// The fault of a message.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    path: String,
    complaint: Cow<'static, str>,
}

/// The beats of one user and device.
#[derive(Debug)]
pub struct Entry {
    pub whom: Whom,
    pub device: Arc<str>,
    pub flag: Option<Day>,
    pub beats: Vec<Beat>,
    /// The name of each beat's content; empty where contents are numbers.
    pub names: Vec<ContentName>,
    pub origin: Option<ConnectionId>,
}

impl Fault {
    pub fn new(path: impl Into<String>, complaint: impl Into<Cow<'static, str>>) -> Self {
        Fault { path: path.into(), complaint: complaint.into() }
    }

    pub fn too_many(path: impl Into<String>, max: usize) -> Self {
        Fault::new(path, format!("must hold at most {max}"))
    }

    pub fn too_great(path: impl Into<String>, max: u64) -> Self {
        Fault::new(path, format!("must be at most {max}"))
    }

    pub fn too_small(path: impl Into<String>) -> Self {
        Fault::new(path, "must be at least 1")
    }

    pub fn missing(path: impl Into<String>) -> Self {
        Fault::new(path, "is missing")
    }

    /// The same inside of a field.
    fn within(self, parent: impl Display) -> Self {
        Fault { path: format!("{parent}.{}", self.path), ..self }
    }
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        Status::invalid_argument(format!("{}: {}", fault.path, fault.complaint))
    }
}

/// The user that a call names.
pub fn whom(mid: Option<u64>, sub: &str) -> Result<Whom, Fault> {
    match (mid, sub.is_empty()) {
        (Some(mid), true) => Ok(Whom::Mid(UserId(mid))),
        (Some(_), false) => Err(Fault::new("sub", "must not be given beside mid")),
        (None, true) => Err(Fault::missing("mid")),
        (None, false) => match UserName::new(sub) {
            Ok(name) => Ok(Whom::Sub(name)),
            Err(complaint) => Err(Fault::new("sub", complaint.to_string())),
        },
    }
}

/// The connection that is not told of a change; empty = none.
pub fn origin(connection: &str) -> Result<Option<ConnectionId>, Fault> {
    if connection.is_empty() {
        return Ok(None);
    }
    let malformed = || Fault::new("connection", "must be the 16 hex digits of a welcome");
    decode_connection(connection).map(Some).ok_or_else(malformed)
}

/// A moment that may be left out.
pub fn moment(at: Option<u64>) -> Result<Option<u64>, Fault> {
    at.map(|at| exact(at, "at")).transpose()
}

/// `items`, at most `max`, and the name of each where contents have names.
pub fn contents(
    items: &[wire::Content],
    max: usize,
    ids: ContentIds,
) -> Result<(Vec<Content>, Vec<ContentName>), Fault> {
    if items.len() > max {
        return Err(Fault::too_many("items", max));
    }
    let contents = items.iter().enumerate().map(|(index, item)| {
        let content = content(item.kind, item.oid, &item.name, ids);
        content.map_err(|fault| fault.within(format_args!("items[{index}]")))
    });
    let (contents, names): (Vec<_>, Vec<_>) = contents.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    Ok((contents, names.into_iter().flatten().collect()))
}

pub fn kinds(kinds: &[u32]) -> Result<Vec<u16>, Fault> {
    let kinds = kinds.iter().enumerate();
    kinds
        .map(|(index, given)| kind(*given).map_err(|_| Fault::too_great(format!("kinds[{index}]"), KIND_MAX)))
        .collect()
}

/// All entries of a `Put`, in their order.
pub fn entries(users: Vec<wire::UserBeats>, ids: ContentIds) -> Result<Vec<Entry>, Fault> {
    if users.len() > BEATS_MAX {
        return Err(Fault::too_many("users", BEATS_MAX));
    }
    let mut all = 0;
    let mut entries = Vec::with_capacity(users.len());
    for (index, given) in users.into_iter().enumerate() {
        let entry = entry(given, ids).map_err(|fault| fault.within(format_args!("users[{index}]")))?;
        all += entry.beats.len();
        if all > BEATS_MAX {
            return Err(Fault::new("users", format!("must hold at most {BEATS_MAX} beats")));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Refuses more beats of one user than a `Put` may have. `users`: of the entries.
pub fn require_few_of_each(entries: &[Entry], users: &[User]) -> Result<(), Fault> {
    let mut of_users = HashMap::<UserId, usize>::new();
    for (index, (entry, user)) in entries.iter().zip(users).enumerate() {
        let of_user = of_users.entry(user.id).or_default();
        *of_user += entry.beats.len();
        if *of_user > BEATS_OF_USER_MAX {
            let complaint = format!("must hold at most {BEATS_OF_USER_MAX} with those before of the user");
            return Err(Fault::new(format!("users[{index}].items"), complaint));
        }
    }
    Ok(())
}

fn entry(given: wire::UserBeats, ids: ContentIds) -> Result<Entry, Fault> {
    let whom = whom(given.mid, &given.sub)?;
    if given.device.len() > DEVICE_BYTES_MAX {
        return Err(Fault::new("device", format!("must be at most {DEVICE_BYTES_MAX} bytes long")));
    }
    let origin = origin(&given.connection)?;
    let items = given.items.iter().enumerate();
    let beats =
        items.map(|(index, item)| beat(item, ids).map_err(|fault| fault.within(format_args!("items[{index}]"))));
    let (beats, names): (Vec<_>, Vec<_>) = beats.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    let names = names.into_iter().flatten().collect();
    Ok(Entry { whom, device: given.device.into(), flag: given.flag.parse().ok(), beats, names, origin })
}

fn beat(given: &wire::Beat, ids: ContentIds) -> Result<(Beat, Option<ContentName>), Fault> {
    let (content, name) = content(given.kind, given.oid, &given.name, ids)?;
    let beat = Beat {
        content,
        pos: exact(required(given.pos, "pos")?, "pos")?,
        dur: exact(given.dur, "dur")?,
        state: state(given.state)?,
        session: SessionId(required(given.session, "session")?),
        watched: given.watched.map(|watched| exact(watched, "watched")).transpose()?,
        // Minus zero is zero.
        rate: given.rate.unwrap_or(1.0) + 0.0,
        at: exact(required(given.at, "at")?, "at")?,
    };
    Ok((beat, name))
}

const KIND_MAX: u64 = u16::MAX as u64;

fn kind(kind: u32) -> Result<u16, Fault> {
    u16::try_from(kind).map_err(|_| Fault::too_great("kind", KIND_MAX))
}

/// By its `oid`, or by its `name` where contents have names.
fn content(
    given: Option<u32>,
    oid: Option<u64>,
    name: &str,
    ids: ContentIds,
) -> Result<(Content, Option<ContentName>), Fault> {
    let kind = kind(required(given, "kind")?)?;
    match (ids, oid) {
        (ContentIds::Number, _) if !name.is_empty() => {
            Err(Fault::new("name", "contents are named by oid here (contents.ids)"))
        }
        (ContentIds::Number, oid) => Ok((Content { kind, oid: required(oid, "oid")? }, None)),
        (ContentIds::Any, Some(_)) => Err(Fault::new("name", "must be given instead of oid (contents.ids)")),
        (ContentIds::Any, None) if name.is_empty() => Err(Fault::missing("name")),
        (ContentIds::Any, None) => {
            let name = ContentName::new(name).map_err(|complaint| Fault::new("name", complaint.to_string()))?;
            Ok((Content { kind, oid: name.oid() }, Some(name)))
        }
    }
}

fn state(given: Option<i32>) -> Result<State, Fault> {
    match wire::State::try_from(required(given, "state")?) {
        Ok(wire::State::Playing) => Ok(State::Playing),
        Ok(wire::State::Paused) => Ok(State::Paused),
        Ok(wire::State::Seeked) => Ok(State::Seeked),
        Ok(wire::State::Ended) => Ok(State::Ended),
        Ok(wire::State::Unspecified) | Err(_) => Err(Fault::new("state", "must be playing, paused, seeked or ended")),
    }
}

fn required<T>(given: Option<T>, field: &'static str) -> Result<T, Fault> {
    given.ok_or_else(|| Fault::missing(field))
}

fn exact(number: u64, field: &'static str) -> Result<u64, Fault> {
    if number > MILLIS_MAX { Err(Fault::too_great(field, MILLIS_MAX)) } else { Ok(number) }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
