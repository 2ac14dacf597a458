//! An error in a frame: the path of the field, then a short sentence.

use serde::de::DeserializeSeed;
use serde_path_to_error::{Path, Segment, Track};

use crate::protocol::frame::{DecodeError, ErrorCode};
use crate::protocol::unknown_field;

#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    /// Empty: the decoded value itself.
    path: String,
    code: ErrorCode,
    /// Never quotes the input of a client, which may be a token. An unknown field of an operator is named.
    complaint: String,
}

impl Fault {
    pub fn invalid(path: &str, complaint: impl Into<String>) -> Self {
        Fault { path: path.to_owned(), code: ErrorCode::Invalid, complaint: complaint.into() }
    }

    pub fn too_many(path: &str, max: usize) -> Self {
        let complaint = format!("must hold at most {max}");
        Fault { path: path.to_owned(), code: ErrorCode::TooMany, complaint }
    }

    pub fn unknown_operation(path: &str) -> Self {
        let complaint = "unknown operation".to_owned();
        Fault { path: path.to_owned(), code: ErrorCode::UnknownOperation, complaint }
    }

    /// The same fault inside `field`.
    pub fn within(self, field: &str) -> Self {
        let path = if self.path.is_empty() { field.to_owned() } else { format!("{field}.{}", self.path) };
        Fault { path, ..self }
    }

    /// The same fault at `name`, unless it has a path already.
    pub fn or_at(self, name: &str) -> Self {
        if self.path.is_empty() { self.within(name) } else { self }
    }

    pub fn malformed(self, seq: Option<u32>, hello: bool) -> DecodeError {
        DecodeError { seq, code: self.code, message: format!("{}: {}", self.path, self.complaint), hello }
    }
}

/// Decodes `json`, which is grammatical, and says where it cannot.
pub(super) fn tracked<'de, S: DeserializeSeed<'de>>(seed: S, json: &'de str) -> Result<S::Value, Fault> {
    let mut track = Track::new();
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let decoded = seed.deserialize(serde_path_to_error::Deserializer::new(&mut deserializer, &mut track));
    decoded.map_err(|error| describe(path_of(&track.path()), &error))
}

/// As in `items[0].pos`; up to a name that cannot be read.
fn path_of(path: &Path) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => text.push_str(&format!("[{index}]")),
            Segment::Map { key: name } | Segment::Enum { variant: name } => {
                text.push_str(if text.is_empty() { "" } else { "." });
                text.push_str(name);
            }
            Segment::Unknown => break,
        }
    }
    text
}

/// Serde's own texts are put into the words of the protocol; what is not known passes as little on as possible.
fn describe(path: String, error: &serde_json::Error) -> Fault {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    let quoted = |prefix: &str| text.strip_prefix(prefix)?.strip_suffix('`');
    let field = |field: &str, complaint: &str| {
        let fault = Fault::invalid(field, complaint);
        if path.is_empty() { fault } else { fault.within(&path) }
    };
    if let Some(name) = quoted("missing field `") {
        return field(name, "is missing");
    }
    if let Some(name) = quoted("duplicate field `") {
        return field(name, "appears twice");
    }
    if let Some((name, known)) = unknown_field_of(text) {
        let parent = path.strip_suffix(name).map_or(&*path, |parent| parent.trim_end_matches('.'));
        return Fault::invalid(parent, unknown_field::complaint(name, &known));
    }
    // A `null` gets here only for a required field. An element of a list is no field.
    if text.starts_with("invalid type: null,") && !path.is_empty() && !path.ends_with(']') {
        return Fault::invalid(&path, "is missing");
    }
    if text.starts_with("invalid type: ") {
        // Before it stands what the client sent, whatever is in there: the last one is ours.
        let expected = text.rsplit_once(", expected ").map_or("of another type", |(_, expected)| expected);
        let expected = if expected == "a sequence" { "an array" } else { expected };
        return Fault::invalid(&path, format!("must be {expected}"));
    }
    let complaint = match text {
        _ if text.starts_with("must ") => text,
        "number out of range" => "must be a number in range",
        // The grammar was sound, so it is an escape that stands for no character.
        _ if error.is_syntax() => "must be Unicode text",
        _ => "is not valid",
    };
    Fault::invalid(&path, complaint)
}

/// The unknown field and the known ones, from serde's message. The name may hold anything, so the message is split at
/// its last marker.
fn unknown_field_of(text: &str) -> Option<(&str, Vec<&str>)> {
    let (name, known) = text.strip_prefix("unknown field `")?.rsplit_once("`, expected ")?;
    Some((name, known.split('`').skip(1).step_by(2).collect()))
}
