//! One record as a line of JSON.

use std::hash::Hasher;

use serde::{Serialize, Serializer};
use siphasher::sip::SipHasher24;

use edge::grpc::wire;
use edge::protocol::json::{ImportLine, decode_import_line};
use edge::protocol::whom::Whom;
use model::beat::State;
use model::content_name::ContentIds;

/// Ids are strings, since they exceed the exact numbers of JSON.
#[derive(Debug, Serialize, PartialEq)]
pub struct RecordLine {
    /// The user, in the deployment that made the line.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "some_text")]
    pub mid: Option<u64>,
    /// The user's name, where users are named by texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    pub kind: u16,
    pub oid: LineOid,
    /// Milliseconds, as all lengths and times.
    pub pos: u64,
    pub dur: u64,
    #[serde(serialize_with = "word")]
    pub state: State,
    /// Without it, one made from the user and the content.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "some_text")]
    pub session: Option<u64>,
    pub device: String,
    pub watched: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Since 1970.
    pub at: u64,
}

/// A content in its line of business: a number, or its name where contents are named by texts.
#[derive(Debug, Serialize, PartialEq)]
#[serde(untagged)]
pub enum LineOid {
    #[serde(serialize_with = "text")]
    Number(u64),
    Name(String),
}

impl RecordLine {
    /// An error names the field of the line, and what it must be. `ids`: how the deployment names contents.
    pub fn read(line: &[u8], ids: ContentIds) -> Result<Self, String> {
        let ImportLine { whom, content, name, pos, dur, state, session, device, watched, rate, at } =
            decode_import_line(line, ids)?;
        let oid = name.map_or(LineOid::Number(content.oid), |name| LineOid::Name(name.as_str().to_owned()));
        let (kind, state) = (content.kind, state.unwrap_or(State::Paused));
        let (mid, sub) = match whom {
            Whom::Mid(mid) => (Some(mid.0), None),
            Whom::Sub(name) => (None, Some(name.as_str().to_owned())),
        };
        Ok(RecordLine { mid, sub, kind, oid, pos, dur, state, session, device, watched, rate, at })
    }

    pub fn of(user: &wire::User, record: wire::Record) -> Self {
        let state = match record.state() {
            wire::State::Playing => State::Playing,
            wire::State::Seeked => State::Seeked,
            wire::State::Ended => State::Ended,
            // One that this version does not know is shown as paused.
            wire::State::Paused | wire::State::Unspecified => State::Paused,
        };
        RecordLine {
            mid: Some(user.mid),
            sub: Some(user.sub.clone()).filter(|sub| !sub.is_empty()),
            // At most that much in every interface.
            kind: u16::try_from(record.kind).unwrap_or(u16::MAX),
            oid: if record.name.is_empty() { LineOid::Number(record.oid) } else { LineOid::Name(record.name) },
            pos: record.pos,
            dur: record.dur,
            state,
            session: Some(record.session),
            device: record.device,
            watched: record.watched,
            rate: None,
            at: record.at,
        }
    }

    /// The beat that makes the record. The same line makes the same beat, so a repeat changes nothing. A beat of which
    /// nothing was watched would begin no session, so it has a millisecond.
    pub fn beat(&self) -> wire::Beat {
        let state = match self.state {
            State::Playing => wire::State::Playing,
            State::Paused => wire::State::Paused,
            State::Seeked => wire::State::Seeked,
            State::Ended => wire::State::Ended,
        };
        let (oid, name) = match &self.oid {
            LineOid::Number(oid) => (Some(*oid), String::new()),
            LineOid::Name(name) => (None, name.clone()),
        };
        wire::Beat {
            kind: Some(self.kind.into()),
            oid,
            name,
            pos: Some(self.pos),
            dur: self.dur,
            state: Some(state.into()),
            session: Some(self.session.unwrap_or_else(|| self.made_session())),
            watched: Some(self.watched.max(1)),
            rate: self.rate,
            at: Some(self.at),
        }
    }

    fn made_session(&self) -> u64 {
        let mut hasher = SipHasher24::new();
        match &self.sub {
            Some(sub) => hasher.write(sub.as_bytes()),
            None => hasher.write(&self.mid.unwrap_or_default().to_le_bytes()),
        }
        hasher.write(&u64::from(self.kind).to_le_bytes());
        match &self.oid {
            LineOid::Number(oid) => hasher.write(&oid.to_le_bytes()),
            LineOid::Name(name) => hasher.write(name.as_bytes()),
        }
        hasher.finish()
    }
}

fn text<S: Serializer>(id: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

fn some_text<S: Serializer>(id: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    match id {
        Some(id) => serializer.collect_str(id),
        None => serializer.serialize_none(),
    }
}

fn word<S: Serializer>(state: &State, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state.word())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_a_session_makes_one_and_was_watched() {
        let line =
            RecordLine::read(br#"{"mid":"7","kind":1,"oid":8,"pos":3,"at":9}"#, ContentIds::Number).expect("a line");
        let beat = line.beat();
        assert_eq!((beat.watched, beat.state, beat.session), (Some(1), Some(2), Some(line.made_session())));
    }

    #[test]
    fn a_name_stands_beside_the_number_and_is_the_user_when_it_is_read() {
        let user = wire::User { mid: 7, sub: "auth0|6405".to_owned() };
        let line = RecordLine::of(&user, wire::Record { kind: 1, oid: 8, at: 9, ..Default::default() });
        let text = serde_json::to_string(&line).expect("a line");
        assert!(text.starts_with(r#"{"mid":"7","sub":"auth0|6405","kind":1"#), "{text}");
        let read = RecordLine::read(text.as_bytes(), ContentIds::Number).expect("a line");
        assert_eq!((read.mid, read.sub.as_deref()), (None, Some("auth0|6405")));
        let made = |mid| RecordLine {
            mid,
            session: None,
            ..RecordLine::read(text.as_bytes(), ContentIds::Number).expect("a line")
        };
        assert_eq!(made(None).made_session(), made(Some(8)).made_session(), "the number is no part of it");
    }

    #[test]
    fn a_named_content_is_read_again_by_its_name() {
        let record =
            wire::Record { kind: 1, name: "a \"b\"".to_owned(), session: 5, at: 9, state: 4, ..Default::default() };
        let line = RecordLine::of(&wire::User { mid: 7, sub: String::new() }, record);
        let text = serde_json::to_string(&line).expect("a line");
        assert!(text.starts_with(r#"{"mid":"7","kind":1,"oid":"a \"b\"","pos":0"#), "{text}");
        let read = RecordLine::read(text.as_bytes(), ContentIds::Any).expect("a line");
        assert_eq!((read.beat().name.as_str(), read.beat().oid, &read), ("a \"b\"", None, &line));
    }

    #[test]
    fn what_was_exported_is_read_again() {
        let record =
            wire::Record { kind: 3, oid: u64::MAX, pos: 5, session: u64::MAX, at: 9, state: 4, ..Default::default() };
        let line = RecordLine::of(&wire::User { mid: u64::MAX, sub: String::new() }, record);
        let text = serde_json::to_string(&line).expect("a line");
        assert!(text.starts_with(r#"{"mid":"18446744073709551615","kind":3,"oid":"18446744073709551615","pos":5"#));
        assert_eq!(RecordLine::read(text.as_bytes(), ContentIds::Number).expect("a line"), line);
    }
}
