//! The bodies of HTTP requests.
//!
//! A client's body may have fields of a later protocol, which are ignored, as in a frame. An operator's call is refused
//! if it has an unknown field: it must not be done in part.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::fault::{Fault, tracked};
use super::number::{Id, Millis};
use super::operation::{Items, Name, Names, Naming, Numbers, at_most};
use super::shape::Object;
use super::text::{ConnectionName, Flag, Text};
use crate::protocol::frame::{Beats, DecodeError, FrameLimits};
use crate::protocol::whom::Whom;
use model::content_name::ContentIds;
use model::ids::{ConnectionId, Content};
use model::user_name::UserName;

/// The body of `POST /v1/beats`.
#[derive(Debug, PartialEq)]
pub struct BeatsBody {
    pub beats: Beats,
    pub device: Option<String>,
    /// The socket to which nothing of this is pushed.
    pub connection: Option<ConnectionId>,
}

/// The body of `PUT /v1/recording`.
#[derive(Debug, PartialEq)]
pub struct RecordingBody {
    pub paused: bool,
    /// Server-clock milliseconds.
    pub at: Option<u64>,
    /// The socket to which nothing of this is pushed.
    pub connection: Option<ConnectionId>,
}

#[derive(Deserialize)]
struct BeatsBodyShape<I> {
    flag: Option<Flag>,
    items: I,
    device: Option<Name>,
    connection: Option<ConnectionName>,
}

#[derive(Deserialize)]
struct GetBodyShape<I> {
    items: I,
}

#[derive(Deserialize)]
struct RecordingBodyShape {
    paused: bool,
    at: Option<Millis>,
    connection: Option<ConnectionName>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UserBodyShape {
    mid: Option<Id>,
    sub: Option<Text<{ UserName::BYTES_MAX }>>,
}

pub fn decode_beats_body(body: &[u8], limits: &FrameLimits) -> Result<BeatsBody, DecodeError> {
    match limits.ids {
        ContentIds::Number => beats_body::<Numbers>(body, limits),
        ContentIds::Any => beats_body::<Names>(body, limits),
    }
}

fn beats_body<N: Naming>(body: &[u8], limits: &FrameLimits) -> Result<BeatsBody, DecodeError> {
    let shape: BeatsBodyShape<N::Beats> = object(body)?;
    let Items { items, names } = at_most(shape.items.into(), limits.beats).map_err(answer)?;
    Ok(BeatsBody {
        beats: Beats { flag: shape.flag.and_then(|flag| flag.0), items, names },
        device: shape.device.map(|device| device.0),
        connection: shape.connection.map(|connection| connection.0),
    })
}

/// Decodes the body of `POST /v1/history/get` and `POST /v1/views/get`.
pub fn decode_get_body(body: &[u8], limits: &FrameLimits) -> Result<Vec<Content>, DecodeError> {
    let items = match limits.ids {
        ContentIds::Number => object::<GetBodyShape<<Numbers as Naming>::Contents>>(body)?.items.into(),
        ContentIds::Any => object::<GetBodyShape<<Names as Naming>::Contents>>(body)?.items.into(),
    };
    at_most(items, limits.items).map(|asked| asked.items).map_err(answer)
}

pub fn decode_recording_body(body: &[u8]) -> Result<RecordingBody, DecodeError> {
    let shape: RecordingBodyShape = object(body)?;
    Ok(RecordingBody {
        paused: shape.paused,
        at: shape.at.map(|at| at.0),
        connection: shape.connection.map(|connection| connection.0),
    })
}

/// Decodes the body of the control listener's `POST /v1/kick` and `POST /v1/erase`.
pub fn decode_user_body(body: &[u8]) -> Result<Whom, DecodeError> {
    let UserBodyShape { mid, sub } = object(body)?;
    Whom::required(mid, sub.as_ref().map(|sub| &*sub.0)).map_err(answer)
}

pub(super) fn object<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, DecodeError> {
    let text = std::str::from_utf8(body).map_err(|_| answer(Fault::invalid("body", "is not UTF-8")))?;
    if let Ok(Object(shape)) = serde_json::from_str(text) {
        return Ok(shape);
    }
    serde_json::from_str::<IgnoredAny>(text).map_err(|_| answer(Fault::invalid("body", "is not JSON")))?;
    let object = tracked(std::marker::PhantomData::<Object<T>>, text);
    object.map(|Object(shape)| shape).map_err(|fault| answer(fault.or_at("body")))
}

fn answer(fault: Fault) -> DecodeError {
    fault.malformed(None, false)
}

#[cfg(test)]
mod tests {
    use super::super::decode_tests::LIMITS;
    use super::*;
    use crate::protocol::frame::ErrorCode;
    use model::ids::UserId;

    const BEAT: &str = r#"{"kind":1,"oid":"100","pos":7,"state":"playing","session":"8","at":9}"#;

    fn message<T: std::fmt::Debug>(decoded: Result<T, DecodeError>) -> String {
        let malformed = decoded.unwrap_err();
        assert_eq!((malformed.seq, malformed.hello), (None, false));
        malformed.message
    }

    #[test]
    fn beats_come_with_the_socket_and_its_device() {
        let body =
            format!(r#"{{"flag":"2026-11-20","items":[{BEAT}],"device":"tv","connection":"00000000deadBEEF","x":1}}"#);
        let decoded = decode_beats_body(body.as_bytes(), &LIMITS).unwrap();
        assert_eq!(decoded.connection, Some(ConnectionId(0xdead_beef)));
        assert_eq!((decoded.device.as_deref(), decoded.beats.flag), (Some("tv"), "2026-11-20".parse().ok()));
        assert_eq!(decoded.beats.items[0].pos, 7);
        let bare = decode_beats_body(br#"{"items":[]}"#, &LIMITS).unwrap();
        assert_eq!(bare, BeatsBody { beats: Beats::default(), device: None, connection: None });
    }

    #[test]
    fn an_error_in_a_body_names_the_path_of_the_field() {
        let beats = |body: &str| message(decode_beats_body(body.as_bytes(), &LIMITS));
        assert_eq!(
            beats(&format!(r#"{{"items":[{}]}}"#, BEAT.replace('7', "-7"))),
            "items[0].pos: must not be negative"
        );
        assert_eq!(beats(&format!(r#"{{"items":[{}]}}"#, BEAT.replace("pos", "p"))), "items[0].pos: is missing");
        assert_eq!(beats("{}"), "items: is missing");
        assert_eq!(beats("[]"), "body: must be an object");
        assert_eq!(beats("null"), "body: must be an object");
        assert_eq!(beats(""), "body: is not JSON");
        assert_eq!(beats(r#"{"items":[]} {}"#), "body: is not JSON");
        assert_eq!(beats(r#"{"items":[],"items":[]}"#), "items: appears twice");
        assert_eq!(beats(r#"{"\ud800":[]}"#), "body: must be Unicode text");
        for connection in ["", "deadbeef", "+0000000deadbeef", "00000000deadbeeg", "000000000deadbeef"] {
            let body = format!(r#"{{"items":[],"connection":"{connection}"}}"#);
            assert_eq!(beats(&body), "connection: must be the 16 hex digits of a welcome");
        }
        let many = format!(r#"{{"items":[{}]}}"#, [BEAT; 4].join(","));
        let malformed = decode_beats_body(many.as_bytes(), &LIMITS).unwrap_err();
        assert_eq!((malformed.code, malformed.message.as_str()), (ErrorCode::TooMany, "items: must hold at most 3"));
        assert_eq!(message(decode_beats_body(b"{\"\xff\":1}", &LIMITS)), "body: is not UTF-8");
    }

    #[test]
    fn a_get_body_lists_contents_up_to_the_limit() {
        let body = br#"{"items":[{"kind":1,"oid":"100"},{"kind":2,"oid":7}]}"#;
        let contents = vec![Content { kind: 1, oid: 100 }, Content { kind: 2, oid: 7 }];
        assert_eq!(decode_get_body(body, &LIMITS), Ok(contents));
        let many = format!(r#"{{"items":[{}]}}"#, [r#"{"kind":1,"oid":"1"}"#; 3].join(","));
        let malformed = decode_get_body(many.as_bytes(), &LIMITS).unwrap_err();
        assert_eq!((malformed.code, malformed.message.as_str()), (ErrorCode::TooMany, "items: must hold at most 2"));
    }

    #[test]
    fn a_recording_body_may_leave_the_moment_out() {
        let decoded = |body: &str| decode_recording_body(body.as_bytes());
        let now = RecordingBody { paused: true, at: None, connection: None };
        assert_eq!(decoded(r#"{"paused":true}"#), Ok(now));
        let body = r#"{"paused":false,"at":5,"connection":"0000000000000001"}"#;
        let at = RecordingBody { paused: false, at: Some(5), connection: Some(ConnectionId(1)) };
        assert_eq!(decoded(body), Ok(at));
        assert_eq!(message(decoded("{}")), "paused: is missing");
        assert_eq!(message(decoded(r#"{"paused":1}"#)), "paused: must be a boolean");
    }

    #[test]
    fn a_kick_names_a_user() {
        assert_eq!(decode_user_body(br#"{"mid":"42"}"#), Ok(Whom::Mid(UserId(42))));
        let refused = |body: &str| message(decode_user_body(body.as_bytes()));
        assert_eq!(refused(r#"{"mid":"x"}"#), "mid: must be a decimal number of 64 bits");
        assert_eq!(refused(r#"{"mid":"42","dry_run":true}"#), "body: unknown field dry_run; known: mid, sub");
        assert_eq!(refused(r#"{"Mid":"42"}"#), "body: unknown field Mid; did you mean mid?");
        // As it was written, with what looks like a part of the complaint in it.
        assert_eq!(
            refused(r#"{"mid":"42","a`, expected `b":1}"#),
            "body: unknown field a`, expected `b; known: mid, sub"
        );
    }
}
