//! One record of a file to be imported, as a line of JSON.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, Visitor};

use super::fault::{Fault, tracked};
use super::number::{Integer, Kind, Millis, Rate};
use super::operation::Name;
use super::shape::Object;
use super::text::{ContentText, StateWord};
use crate::protocol::whom::Whom;
use model::beat::State;
use model::content_name::{ContentIds, ContentName};
use model::ids::{Content, UserId};
use model::user_name::UserName;

/// An `at` of this size was written in seconds, of 2001 or later. As milliseconds it would be of the year 1970.
const AT_IN_SECONDS: Range<u64> = 1_000_000_000..100_000_000_000;

/// The contents of a line. Lengths and times are milliseconds.
#[derive(Debug, PartialEq)]
pub struct ImportLine {
    pub whom: Whom,
    pub content: Content,
    /// Of the content, where contents have names.
    pub name: Option<ContentName>,
    pub pos: u64,
    pub dur: u64,
    pub state: Option<State>,
    pub session: Option<u64>,
    pub device: String,
    pub watched: u64,
    pub rate: Option<f64>,
    /// Since 1970.
    pub at: u64,
}

/// `O`: what names a content.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineShape<O> {
    mid: Option<LineId>,
    sub: Option<Name>,
    kind: LineKind,
    oid: O,
    pos: Millis,
    dur: Option<Millis>,
    state: Option<StateWord>,
    session: Option<LineId>,
    device: Option<Name>,
    watched: Option<Millis>,
    rate: Option<Rate>,
    at: Millis,
}

/// A file may come from a program whose numbers are exact up to 2^64, so all of them are taken here.
struct LineId(u64);

/// A number, or the same as text.
struct LineKind(u16);

/// Decodes a line. An error names the field and says what it must be. `ids`: how the deployment names contents.
pub fn decode_import_line(line: &[u8], ids: ContentIds) -> Result<ImportLine, String> {
    match ids {
        ContentIds::Number => decode(line, |oid: LineId| (oid.0, None)),
        ContentIds::Any => decode(line, |ContentText(name)| (name.oid(), Some(name))),
    }
}

fn decode<O: DeserializeOwned>(
    line: &[u8],
    content: impl Fn(O) -> (u64, Option<ContentName>),
) -> Result<ImportLine, String> {
    let text = std::str::from_utf8(line.trim_ascii_end()).map_err(|_| "is not UTF-8".to_owned())?;
    let shape = match serde_json::from_str(text) {
        Ok(Object(shape)) => shape,
        Err(_) => fault_of(text)?,
    };
    let LineShape { mid, sub, kind, oid, pos, dur, state, session, device, watched, rate, at } = shape;
    if AT_IN_SECONDS.contains(&at.0) {
        return Err(format!("at: {} is in seconds, and must be in milliseconds since 1970", at.0));
    }
    let (oid, name) = content(oid);
    Ok(ImportLine {
        whom: whom(mid, sub)?,
        content: Content { kind: kind.0, oid },
        name,
        pos: pos.0,
        dur: dur.unwrap_or_default().0,
        state: state.map(|state| state.0),
        session: session.map(|session| session.0),
        device: device.map(|device| device.0).unwrap_or_default(),
        watched: watched.unwrap_or_default().0,
        rate: rate.map(|rate| rate.0),
        at: at.0,
    })
}

/// A name counts, and a number beside it does not: it belongs to the deployment that made the file.
fn whom(mid: Option<LineId>, sub: Option<Name>) -> Result<Whom, String> {
    match (sub, mid) {
        (Some(sub), _) => UserName::new(&sub.0).map(Whom::Sub).map_err(|complaint| format!("sub: {complaint}")),
        (None, Some(mid)) => Ok(Whom::Mid(UserId(mid.0))),
        (None, None) => Err("mid: is missing".to_owned()),
    }
}

/// The fault of a line that cannot be decoded.
fn fault_of<O: DeserializeOwned>(text: &str) -> Result<LineShape<O>, String> {
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| {
        format!("is not JSON (column {}): write each record as one object on one line", error.column())
    })?;
    let fault = |fault: Fault| fault.or_at("line").malformed(None, false).message;
    tracked(std::marker::PhantomData::<Object<LineShape<O>>>, text).map(|Object(shape)| shape).map_err(fault)
}

impl<'de> Deserialize<'de> for LineId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LineIdVisitor)
    }
}

struct LineIdVisitor;

impl LineIdVisitor {
    const COMPLAINT: &str = "must be a whole number from 0 to 18446744073709551615, or the same as text";
}

impl Visitor<'_> for LineIdVisitor {
    type Value = LineId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number, or the same as text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<LineId, E> {
        // The parser alone would take a sign.
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| digits).map(LineId).ok_or_else(|| E::custom(Self::COMPLAINT))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<LineId, E> {
        Ok(LineId(number))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<LineId, E> {
        Err(E::custom(Self::COMPLAINT))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<LineId, E> {
        Err(E::custom(Self::COMPLAINT))
    }
}

impl<'de> Deserialize<'de> for LineKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LineKindVisitor)
    }
}

struct LineKindVisitor;

impl LineKindVisitor {
    fn of<E: Error>(kind: Result<Kind, String>) -> Result<LineKind, E> {
        kind.map(|kind| LineKind(kind.get())).map_err(E::custom)
    }
}

impl Visitor<'_> for LineKindVisitor {
    type Value = LineKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer, or the same as text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<LineKind, E> {
        Self::of(Integer::from_text(text))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<LineKind, E> {
        Self::of(Integer::from_text(&number.to_string()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<LineKind, E> {
        Self::of(Integer::from_text(&number.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_number(line: &[u8]) -> Result<ImportLine, String> {
        decode_import_line(line, ContentIds::Number)
    }

    #[test]
    fn an_oid_may_be_a_name() {
        let decoded = |oid| {
            let line = format!(r#"{{"mid":7,"kind":1,"oid":{oid},"pos":3,"at":9}}"#);
            decode_import_line(line.as_bytes(), ContentIds::Any)
        };
        let line = decoded(r#""042""#).expect("a line");
        let name = ContentName::new("042").expect("a name");
        assert_eq!((line.content.oid, line.name), (name.oid(), Some(name)));
        assert_eq!(decoded("42"), Err("oid: must be a string".to_owned()));
        assert_eq!(decoded(r#""..""#), Err("oid: must not be \".\" or \"..\", which URLs cannot hold".to_owned()));
    }

    fn refused(line: &str) -> String {
        decode_import_line(line.as_bytes(), ContentIds::Number).expect_err(line)
    }

    #[test]
    fn a_line_needs_five_fields_and_ids_and_kind_may_be_text() {
        let line = decode_number(br#"{"mid":"7","kind":"3","oid":18446744073709551615,"pos":4,"at":9,"dur":null}"#);
        let line = line.expect("a line");
        assert_eq!((line.whom, line.content, line.at), (Whom::Mid(UserId(7)), Content { kind: 3, oid: u64::MAX }, 9));
        assert_eq!((line.dur, line.state, line.session, &*line.device, line.rate), (0, None, None, "", None));
    }

    #[test]
    fn a_name_counts_and_a_number_beside_it_does_not() {
        let line = decode_number(br#"{"mid":7,"sub":"auth0|6405","kind":1,"oid":8,"pos":3,"at":9}"#);
        assert_eq!(line.expect("a line").whom, Whom::Sub(UserName::new("auth0|6405").expect("a name")));
    }

    #[test]
    fn what_is_wrong_names_the_field_and_says_what_it_must_be() {
        let good = r#""mid":7,"kind":1,"oid":8,"pos":3"#;
        let id = "must be a whole number from 0 to 18446744073709551615, or the same as text";
        for (line, complaint) in [
            (format!("{{{good}}}"), "at: is missing".to_owned()),
            (r#"{"mid":-7,"kind":1,"oid":8,"pos":3,"at":9}"#.to_owned(), format!("mid: {id}")),
            (r#"{"mid":7,"kind":1,"oid":"+8","pos":3,"at":9}"#.to_owned(), format!("oid: {id}")),
            (r#"{"mid":7,"kind":70000,"oid":8,"pos":3,"at":9}"#.to_owned(), "kind: must be at most 65535".to_owned()),
            (r#"{"mid":7,"kind":"film","oid":8,"pos":3,"at":9}"#.to_owned(), "kind: must be an integer".to_owned()),
            (r#"{"mid":7,"kind":1,"oid":8,"pos":-1,"at":9}"#.to_owned(), "pos: must not be negative".to_owned()),
            (r#"{"mid":7,"kind":1,"oid":8,"pos":"3","at":9}"#.to_owned(), "pos: must be an integer".to_owned()),
            (
                format!(r#"{{{good},"at":9,"state":"stopped"}}"#),
                "state: must be playing, paused, seeked or ended".to_owned(),
            ),
            (format!(r#"{{{good},"at":9,"mid":8}}"#), "mid: appears twice".to_owned()),
            ("[7,1,8,3,9]".to_owned(), "line: must be an object".to_owned()),
            ("nul".to_owned(), "is not JSON (column 3): write each record as one object on one line".to_owned()),
            ("{".to_owned(), "is not JSON (column 1): write each record as one object on one line".to_owned()),
        ] {
            assert_eq!(refused(&line), complaint, "{line}");
        }
        let unknown = refused(&format!(r#"{{{good},"at":9,"duration":4}}"#));
        assert!(unknown.starts_with("line: unknown field duration; known: mid, sub, kind"), "{unknown}");
        let nameless = refused(r#"{"kind":1,"oid":8,"pos":3,"at":9}"#);
        assert_eq!(nameless, "mid: is missing");
        assert_eq!(refused(&format!(r#"{{{good},"at":9,"sub":""}}"#)), "sub: must be from 1 to 256 bytes long");
        assert_eq!(decode_number(b"\xff"), Err("is not UTF-8".to_owned()));
    }

    #[test]
    fn a_time_in_seconds_is_said_to_be_in_seconds() {
        let of = |at: u64| decode_number(format!(r#"{{"mid":7,"kind":1,"oid":8,"pos":3,"at":{at}}}"#).as_bytes());
        let complaint = "at: 1795780000 is in seconds, and must be in milliseconds since 1970";
        assert_eq!(of(1_795_780_000), Err(complaint.to_owned()));
        assert!(of(1_795_780_000_000).is_ok() && of(1).is_ok());
    }
}
