//! One record as a line of JSON.

use std::hash::Hasher;

use serde::{Deserialize, Deserializer, Serialize};
use siphasher::sip::SipHasher24;

use crate::edge::grpc::wire;

/// Ids are strings, since they exceed the exact numbers of JSON; numbers are taken, too.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RecordLine {
    #[serde(serialize_with = "text", deserialize_with = "id")]
    pub mid: u64,
    pub kind: u16,
    #[serde(serialize_with = "text", deserialize_with = "id")]
    pub oid: u64,
    /// Milliseconds, as all lengths and times.
    pub pos: u64,
    #[serde(default)]
    pub dur: u64,
    #[serde(default)]
    pub state: LineState,
    /// Without it, one made from the user and the content.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "some_text",
        deserialize_with = "some_id"
    )]
    pub session: Option<u64>,
    #[serde(default)]
    pub device: String,
    #[serde(default)]
    pub watched: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Since 1970.
    pub at: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineState {
    Playing,
    #[default]
    Paused,
    Seeked,
    Ended,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Number(u64),
    Text(String),
}

impl RecordLine {
    pub fn of(mid: u64, record: wire::Record) -> Self {
        let state = match record.state() {
            wire::State::Playing => LineState::Playing,
            wire::State::Seeked => LineState::Seeked,
            wire::State::Ended => LineState::Ended,
            // One that this version does not know is shown as paused.
            wire::State::Paused | wire::State::Unspecified => LineState::Paused,
        };
        RecordLine {
            mid,
            // At most that much in every interface.
            kind: u16::try_from(record.kind).unwrap_or(u16::MAX),
            oid: record.oid,
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
            LineState::Playing => wire::State::Playing,
            LineState::Paused => wire::State::Paused,
            LineState::Seeked => wire::State::Seeked,
            LineState::Ended => wire::State::Ended,
        };
        wire::Beat {
            kind: Some(self.kind.into()),
            oid: Some(self.oid),
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
        for number in [self.mid, self.kind.into(), self.oid] {
            hasher.write(&number.to_le_bytes());
        }
        hasher.finish()
    }
}

fn text<S: serde::Serializer>(id: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

fn some_text<S: serde::Serializer>(id: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    match id {
        Some(id) => serializer.collect_str(id),
        None => serializer.serialize_none(),
    }
}

fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let complaint = || serde::de::Error::custom("expected an id: a number below 2^64, or the same as text");
    match Id::deserialize(deserializer).map_err(|_| complaint())? {
        Id::Number(number) => Ok(number),
        Id::Text(text) => text.parse().map_err(|_| complaint()),
    }
}

fn some_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    id(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_needs_five_fields_and_says_which_is_wrong() {
        let line: RecordLine = serde_json::from_str(r#"{"mid":"7","kind":1,"oid":8,"pos":3,"at":9}"#).expect("a line");
        let beat = line.beat();
        assert_eq!((beat.watched, beat.state, beat.session), (Some(1), Some(2), Some(line.made_session())));
        for (bad, complaint) in [
            (r#"{"mid":7,"kind":1,"oid":8,"pos":3}"#, "missing field `at`"),
            (r#"{"mid":-7,"kind":1,"oid":8,"pos":3,"at":9}"#, "expected an id"),
            (r#"{"mid":7,"kind":70000,"oid":8,"pos":3,"at":9}"#, "70000"),
            (r#"{"mid":7,"kind":1,"oid":8,"pos":3,"at":9,"duration":4}"#, "unknown field `duration`"),
            (r#"{"mid":7,"kind":1,"oid":8,"pos":3,"at":9,"state":"stopped"}"#, "unknown variant `stopped`"),
        ] {
            let error = serde_json::from_str::<RecordLine>(bad).expect_err(bad).to_string();
            assert!(error.contains(complaint), "{error}");
        }
    }

    #[test]
    fn what_was_exported_is_read_again() {
        let record =
            wire::Record { kind: 3, oid: u64::MAX, pos: 5, session: u64::MAX, at: 9, state: 4, ..Default::default() };
        let line = RecordLine::of(u64::MAX, record);
        let text = serde_json::to_string(&line).expect("a line");
        assert!(text.starts_with(r#"{"mid":"18446744073709551615","kind":3,"oid":"18446744073709551615","pos":5"#));
        assert_eq!(serde_json::from_str::<RecordLine>(&text).expect("a line"), line);
    }
}
