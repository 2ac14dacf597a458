//! `null` means missing: in every field of every operation and body.

use serde_json::{Value, json};

use super::decode::{decode, decode_slowly};
use super::decode_tests::LIMITS;
use super::{decode_beats_body, decode_get_body, decode_recording_body, decode_revoke_body, decode_user_body};
use crate::protocol::cursor;
use crate::protocol::frame::{Cursor, DecodeError};
use model::ids::Content;
use model::page::{ListFilter, Position};

const CONNECTION: &str = "00000000000000ff";

fn beat() -> Value {
    json!({
        "kind": 1, "oid": "100", "pos": 73200, "dur": 300_000, "state": "playing", "session": "8311207",
        "watched": 5000, "rate": 1.5, "at": 1_795_150_000_118_u64,
    })
}

/// Every operation, with every field it may have.
fn frames() -> Vec<Value> {
    let items = json!([{"kind": 1, "oid": "100"}]);
    let position = Position { at: 5, content: Content { kind: 1, oid: 100 } };
    let filter = ListFilter { kinds: vec![1], finished: Some(false) };
    let cursor = cursor::encode(&Cursor { position, filter });
    vec![
        json!({"seq": 1, "hello": {"token": "a.b.c", "device": "tv", "client": "x", "ack_delay": 5}}),
        json!({"seq": 2, "beats": {"flag": "2026-11-19", "items": [beat()]}}),
        json!({"seq": 3, "get": {"items": items}}),
        json!({"seq": 4, "list": {"limit": 7, "cursor": cursor, "kinds": [1], "finished": false}}),
        json!({"seq": 4, "list": {"limit": 7, "kinds": [1], "finished": true}}),
        json!({"seq": 5, "delete": {"items": items, "at": 5}}),
        json!({"seq": 6, "clear": {"at": 5}}),
        json!({"seq": 7, "recording": {"paused": true, "at": 5}}),
        json!({"seq": 8, "token": {"token": "a.b.c"}}),
    ]
}

/// The pointers (RFC 6901) to all fields of all objects in it.
fn fields(value: &Value) -> Vec<String> {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (format!("/{name}"), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, item)| (format!("/{index}"), item)).collect(),
        _ => Vec::new(),
    };
    let own = parts.iter().filter(|_| value.is_object()).map(|(pointer, _)| pointer.clone());
    let within =
        parts.iter().flat_map(|(pointer, value)| fields(value).into_iter().map(move |path| pointer.clone() + &path));
    own.chain(within).collect()
}

fn with_null(value: &Value, pointer: &str) -> String {
    let mut changed = value.clone();
    *changed.pointer_mut(pointer).expect("a field") = Value::Null;
    changed.to_string()
}

fn without(value: &Value, pointer: &str) -> String {
    let mut changed = value.clone();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    changed.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object").remove(name);
    changed.to_string()
}

/// A field of a body that is `null` is as if it were left out; how many were tried.
fn body_is_the_same<T: std::fmt::Debug + PartialEq>(
    body: &Value,
    decode: impl Fn(&[u8]) -> Result<T, DecodeError>,
) -> usize {
    assert!(decode(body.to_string().as_bytes()).is_ok(), "{body}");
    for pointer in fields(body) {
        let (null, left_out) = (with_null(body, &pointer), without(body, &pointer));
        assert_eq!(decode(null.as_bytes()), decode(left_out.as_bytes()), "{null}");
    }
    fields(body).len()
}

#[test]
fn a_field_of_a_frame_that_is_null_is_missing() {
    let mut tried = 0;
    for frame in frames() {
        assert!(decode(&frame.to_string(), &LIMITS).is_ok(), "{frame}");
        for pointer in fields(&frame) {
            tried += 1;
            let null = with_null(&frame, &pointer);
            let mut expected = decode(&without(&frame, &pointer), &LIMITS);
            if let Err(error) = &mut expected {
                // It was meant as one: before the welcome it may be repaired.
                error.hello |= frame.get("hello").is_some();
            }
            assert_eq!(decode(&null, &LIMITS), expected, "{null}");
            assert_eq!(decode_slowly(&null, &LIMITS), expected, "{null}");
        }
    }
    assert_eq!(tried, 51, "every field is tried");
}

#[test]
fn a_required_field_that_is_null_is_told_by_its_path() {
    let message = |frame: &Value, pointer: &str| decode(&with_null(frame, pointer), &LIMITS).unwrap_err().message;
    let frames = frames();
    assert_eq!(message(&frames[1], "/beats/items/0/pos"), "beats.items[0].pos: is missing");
    assert_eq!(message(&frames[1], "/seq"), "seq: is missing");
    assert_eq!(message(&frames[1], "/beats"), "frame: has no operation");
    assert_eq!(message(&frames[7], "/recording/paused"), "recording.paused: is missing");
}

#[test]
fn an_operation_beside_others_that_are_null_is_alone() {
    let alone = json!({"seq": 6, "clear": {"at": 5}});
    let mut padded = json!({"hello": null, "beats": null, "get": null, "token": null});
    padded.as_object_mut().unwrap().append(&mut alone.as_object().unwrap().clone());
    assert_eq!(decode(&padded.to_string(), &LIMITS), decode(&alone.to_string(), &LIMITS));
}

#[test]
fn a_field_of_a_body_that_is_null_is_missing() {
    let beats = json!({"flag": "2026-11-20", "items": [beat()], "device": "tv", "connection": CONNECTION});
    assert_eq!(body_is_the_same(&beats, |body| decode_beats_body(body, &LIMITS)), 13);
    let get = json!({"items": [{"kind": 1, "oid": "100"}]});
    assert_eq!(body_is_the_same(&get, |body| decode_get_body(body, &LIMITS)), 3);
    let recording = json!({"paused": true, "at": 5, "connection": CONNECTION});
    assert_eq!(body_is_the_same(&recording, decode_recording_body), 3);
    assert_eq!(body_is_the_same(&json!({"mid": "42"}), decode_user_body), 1);
    assert_eq!(body_is_the_same(&json!({"mid": "42", "until": 5}), decode_revoke_body), 2);
    assert_eq!(body_is_the_same(&json!({"jti": "a", "until": 5}), decode_revoke_body), 2);
    let padded = br#"{"mid":"42","jti":null}"#;
    assert_eq!(decode_revoke_body(padded), decode_revoke_body(br#"{"mid":"42"}"#));
}
