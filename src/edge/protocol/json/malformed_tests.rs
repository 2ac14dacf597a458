//! Every way to get a client frame wrong, and what is answered.

use super::decode;
use super::decode_tests::LIMITS;
use crate::protocol::frame::ErrorCode;

/// The frame, and the seq and the message of its error.
type Case<'a> = (&'a str, Option<u32>, &'a str);

fn assert_malformed(code: ErrorCode, cases: &[Case]) {
    for (text, seq, message) in cases {
        let malformed = decode(text, &LIMITS).expect_err(text);
        assert_eq!((malformed.seq, malformed.message.as_str()), (*seq, *message), "{text}");
        assert_eq!(malformed.code, code, "{text}");
    }
}

#[test]
fn a_frame_that_is_no_object_has_no_seq() {
    assert_malformed(
        ErrorCode::Invalid,
        &[
            ("", None, "frame: is not JSON"),
            ("{", None, "frame: is not JSON"),
            ("hello", None, "frame: is not JSON"),
            (r#"{"seq":1,"clear":{"at":5}"#, None, "frame: is not JSON"),
            (r#"{"seq":1,"clear":{"at":5}} x"#, None, "frame: is not JSON"),
            (r#"{"seq":1,"clear":{"at":05}}"#, None, "frame: is not JSON"),
            (r#"{"seq":1,"clear":{"at":NaN}}"#, None, "frame: is not JSON"),
            ("{\"seq\":1,\"x\":\"\u{1}\",\"clear\":{\"at\":5}}", None, "frame: is not JSON"),
            (r#"{seq:1,"clear":{"at":5}}"#, None, "frame: is not JSON"),
            (r#"[{"seq":1,"clear":{"at":5}}]"#, None, "frame: is not a JSON object"),
            ("null", None, "frame: is not a JSON object"),
            (r#""seq""#, None, "frame: is not a JSON object"),
            ("17", None, "frame: is not a JSON object"),
        ],
    );
}

#[test]
fn a_wrong_seq_is_reported_before_any_other_error() {
    assert_malformed(
        ErrorCode::Invalid,
        &[
            ("{}", None, "seq: is missing"),
            (r#"{"clear":{"at":-1}}"#, None, "seq: is missing"),
            (r#"{"frob":1}"#, None, "seq: is missing"),
            (r#"{"clear":{"at":-1},"seq":0}"#, None, "seq: must be at least 1"),
            (r#"{"seq":-7,"clear":{"at":5}}"#, None, "seq: must be at least 1"),
            (r#"{"seq":4294967296,"clear":{"at":5}}"#, None, "seq: must be at most 4294967295"),
            (r#"{"seq":123456789012345678901234,"clear":{"at":5}}"#, None, "seq: must be at most 4294967295"),
            (r#"{"seq":1.0,"clear":{"at":5}}"#, None, "seq: must be written as an integer"),
            (r#"{"seq":1.5,"clear":{"at":5}}"#, None, "seq: must be an integer"),
            (r#"{"seq":1e999,"clear":{"at":5}}"#, None, "seq: must be a number in range"),
            (r#"{"seq":"1","clear":{"at":5}}"#, None, "seq: must be an integer"),
            (r#"{"seq":null,"clear":{"at":5}}"#, None, "seq: is missing"),
            (r#"{"seq":[1],"clear":{"at":5}}"#, None, "seq: must be an integer"),
            (r#"{"seq":1,"clear":{"at":5},"seq":1}"#, None, "seq: appears twice"),
        ],
    );
}

#[test]
fn a_frame_has_exactly_one_operation() {
    assert_malformed(
        ErrorCode::Invalid,
        &[
            (r#"{"seq":9}"#, Some(9), "frame: has no operation"),
            (
                r#"{"clear":{"at":5},"get":{"items":[]},"seq":9}"#,
                Some(9),
                "get: must be the only operation of its frame",
            ),
            (r#"{"clear":7,"seq":9,"hello":7,"get":{}}"#, Some(9), "hello: must be the only operation of its frame"),
            (r#"{"seq":9,"clear":{"at":5},"clear":{"at":5}}"#, Some(9), "clear: appears twice"),
        ],
    );
    assert_malformed(
        ErrorCode::UnknownOperation,
        &[
            (r#"{"seq":9,"frob":{}}"#, Some(9), "frame: unknown operation"),
            (r#"{"frob":{},"Beats":{"items":[]},"seq":9}"#, Some(9), "frame: unknown operation"),
        ],
    );
}

#[test]
fn a_field_is_told_by_its_path() {
    assert_malformed(
        ErrorCode::Invalid,
        &[
            (r#"{"seq":2,"beats":null}"#, Some(2), "frame: has no operation"),
            (r#"{"seq":2,"beats":[]}"#, Some(2), "beats: must be an object"),
            (r#"{"seq":2,"beats":{}}"#, Some(2), "beats.items: is missing"),
            (r#"{"seq":2,"beats":{"items":{}}}"#, Some(2), "beats.items: must be an array"),
            (r#"{"seq":2,"beats":{"items":null}}"#, Some(2), "beats.items: is missing"),
            (r#"{"seq":2,"beats":{"items":[],"items":[]}}"#, Some(2), "beats.items: appears twice"),
            (r#"{"seq":2,"beats":{"items":[7]}}"#, Some(2), "beats.items[0]: must be an object"),
            (r#"{"seq":2,"beats":{"items":[null]}}"#, Some(2), "beats.items[0]: must be an object"),
            (r#"{"seq":2,"list":{"kinds":[null]}}"#, Some(2), "list.kinds[0]: must be an integer"),
            (r#"{"beats":{"items":[[1,"2",3]]},"seq":2}"#, Some(2), "beats.items[0]: must be an object"),
            (r#"{"seq":2,"hello":["eyJ"]}"#, Some(2), "hello: must be an object"),
            (r#"{"seq":2,"hello":{"token":7}}"#, Some(2), "hello.token: must be a string"),
            (r#"{"seq":2,"hello":{"device":7}}"#, Some(2), "hello.device: must be a string"),
            (r#"{"seq":2,"hello":{"device":"\ud800"}}"#, Some(2), "hello.device: must be Unicode text"),
            (r#"{"seq":2,"hello":{"ack_delay":-1}}"#, Some(2), "hello.ack_delay: must not be negative"),
            (r#"{"seq":2,"get":{"items":[{"kind":1}]}}"#, Some(2), "get.items[0].oid: is missing"),
            (r#"{"seq":2,"get":{"items":[{"oid":"1"}]}}"#, Some(2), "get.items[0].kind: is missing"),
            (r#"{"seq":2,"delete":{"items":[]}}"#, Some(2), "delete.at: is missing"),
            (r#"{"seq":2,"delete":{"at":1}}"#, Some(2), "delete.items: is missing"),
            (r#"{"seq":2,"clear":{}}"#, Some(2), "clear.at: is missing"),
            (r#"{"seq":2,"clear":{"at":"5"}}"#, Some(2), "clear.at: must be an integer"),
            (r#"{"seq":2,"clear":{"at":5,"at":5}}"#, Some(2), "clear.at: appears twice"),
            (r#"{"seq":2,"clear":{"at":9007199254740992}}"#, Some(2), "clear.at: must be at most 9007199254740991"),
            (r#"{"seq":2,"recording":{"at":5}}"#, Some(2), "recording.paused: is missing"),
            (r#"{"seq":2,"recording":{"paused":1,"at":5}}"#, Some(2), "recording.paused: must be a boolean"),
            (r#"{"seq":2,"recording":{"paused":true}}"#, Some(2), "recording.at: is missing"),
            (r#"{"seq":2,"token":{}}"#, Some(2), "token.token: is missing"),
            (r#"{"seq":2,"token":"eyJ"}"#, Some(2), "token: must be an object"),
            (r#"{"seq":2,"token":{"\ud800":1,"token":"x"}}"#, Some(2), "token: must be Unicode text"),
            (r#"{"seq":2,"list":{"limit":0}}"#, Some(2), "list.limit: must be at least 1"),
            (r#"{"seq":2,"list":{"limit":-5}}"#, Some(2), "list.limit: must be at least 1"),
            (r#"{"seq":2,"list":{"finished":1}}"#, Some(2), "list.finished: must be a boolean"),
            (r#"{"seq":2,"list":{"finished":"true"}}"#, Some(2), "list.finished: must be a boolean"),
            (r#"{"seq":2,"list":{"finished":true,"finished":true}}"#, Some(2), "list.finished: appears twice"),
            (r#"{"seq":2,"list":{"kinds":{}}}"#, Some(2), "list.kinds: must be an array"),
            (r#"{"seq":2,"list":{"kinds":[1,"2"]}}"#, Some(2), "list.kinds[1]: must be an integer"),
            (r#"{"seq":2,"list":{"kinds":[65536]}}"#, Some(2), "list.kinds[0]: must be at most 65535"),
            (r#"{"seq":2,"list":{"cursor":"…"}}"#, Some(2), "list.cursor: must be one given by a list"),
            (r#"{"seq":2,"list":{"cursor":""}}"#, Some(2), "list.cursor: must be one given by a list"),
            (r#"{"seq":2,"list":{"cursor":7}}"#, Some(2), "list.cursor: must be a string"),
        ],
    );
    let cursor = format!(r#"{{"seq":2,"list":{{"cursor":"{}"}}}}"#, "A".repeat(257));
    let kinds = format!(r#"{{"seq":2,"list":{{"kinds":[{}]}}}}"#, ["1"; 33].join(","));
    assert_malformed(
        ErrorCode::Invalid,
        &[
            (&cursor, Some(2), "list.cursor: must be at most 256 bytes long"),
            (&kinds, Some(2), "list.kinds: must hold at most 32"),
        ],
    );
}

#[test]
fn a_field_of_a_beat_is_told_by_its_path() {
    let id = "must be a decimal number of 64 bits";
    let state = "must be playing, paused, seeked or ended";
    let cases = [
        ("kind", "65536", "must be at most 65535"),
        ("kind", "-1", "must not be negative"),
        ("kind", r#""1""#, "must be an integer"),
        ("oid", "-1", "must not be negative"),
        ("oid", "9007199254740992", "must be a string when it is above 9007199254740991"),
        ("oid", "1.5", id),
        ("oid", "null", "is missing"),
        ("oid", r#""""#, id),
        ("oid", r#""+1""#, id),
        ("oid", r#"" 1""#, id),
        ("oid", r#""0x1""#, id),
        ("oid", r#""١""#, id),
        ("session", r#""18446744073709551616""#, id),
        ("session", r#""-1""#, id),
        ("session", "[]", id),
        ("pos", "-1", "must not be negative"),
        ("pos", "-1e30", "must not be negative"),
        ("pos", "9007199254740992", "must be at most 9007199254740991"),
        ("pos", "73200.0", "must be written as an integer"),
        ("dur", "0.5", "must be an integer"),
        ("watched", "true", "must be an integer"),
        ("watched", "18446744073709551616", "must be at most 9007199254740991"),
        ("at", "{}", "must be an integer"),
        ("state", r#""stopped""#, state),
        ("state", r#""Playing""#, state),
        ("state", "1", state),
        ("rate", r#""1""#, "must be a number"),
        ("rate", "1e999", "must be a number in range"),
    ];
    let good = [
        ("kind", "1"),
        ("oid", r#""1""#),
        ("pos", "0"),
        ("dur", "0"),
        ("state", r#""paused""#),
        ("session", r#""1""#),
        ("watched", "0"),
        ("rate", "1"),
        ("at", "1"),
    ];
    let beat = |skip: &str, more: &str| {
        let fields = good.iter().filter(|(name, _)| *name != skip).map(|(name, value)| format!(r#""{name}":{value},"#));
        format!("{{{}{more}}}", fields.collect::<String>())
    };
    let whole = beat("", r#""x":0"#);
    let frame = |bad: &str| format!(r#"{{"beats":{{"items":[{whole},{bad}]}},"seq":2}}"#);
    for (name, value, complaint) in cases {
        let text = frame(&beat(name, &format!(r#""{name}":{value}"#)));
        let message = format!("beats.items[1].{name}: {complaint}");
        assert_malformed(ErrorCode::Invalid, &[(&text, Some(2), &message)]);
    }
    for name in ["kind", "oid", "pos", "state", "session", "at"] {
        let text = frame(&beat(name, r#""x":0"#));
        let message = format!("beats.items[1].{name}: is missing");
        assert_malformed(ErrorCode::Invalid, &[(&text, Some(2), &message)]);
    }
    for (name, value) in good {
        let text = frame(&beat("", &format!(r#""{name}":{value}"#)));
        let message = format!("beats.items[1].{name}: appears twice");
        assert_malformed(ErrorCode::Invalid, &[(&text, Some(2), &message)]);
    }
}

#[test]
fn more_items_than_the_limit_are_too_many() {
    let beat = r#"{"kind":1,"oid":"1","pos":0,"state":"paused","session":"1","at":1}"#;
    let content = r#"{"kind":1,"oid":"1"}"#;
    let beats = |count| format!(r#"{{"seq":2,"beats":{{"items":[{}]}}}}"#, vec![beat; count].join(","));
    let get = |count| format!(r#"{{"seq":3,"get":{{"items":[{}]}}}}"#, vec![content; count].join(","));
    let delete = |count| format!(r#"{{"seq":4,"delete":{{"at":1,"items":[{}]}}}}"#, vec![content; count].join(","));
    for fits in [beats(0), beats(3), get(0), get(2), delete(0), delete(2)] {
        assert!(decode(&fits, &LIMITS).is_ok(), "{fits}");
    }
    assert_malformed(
        ErrorCode::TooMany,
        &[
            (&beats(4), Some(2), "beats.items: must hold at most 3"),
            (&get(3), Some(3), "get.items: must hold at most 2"),
            (&delete(3), Some(4), "delete.items: must hold at most 2"),
        ],
    );
}

#[test]
fn a_malformed_frame_says_whether_it_has_a_hello() {
    let hello = |text: &str| decode(text, &LIMITS).expect_err(text).hello;
    assert!(hello(r#"{"seq":1,"hello":{"token":7}}"#));
    assert!(hello(r#"{"hello":{}}"#));
    assert!(hello(r#"{"seq":1,"clear":{"at":5},"hello":{}}"#));
    assert!(hello(r#"{"seq":1,"clear":{"at":5},"get":{},"hello":{}}"#));
    assert!(hello(r#"{"seq":1,"hello":{},"clear":{"at":5}}"#));
    assert!(!hello(r#"{"seq":1,"x":{"hello":{}}}"#));
    assert!(!hello(r#"{"seq":1,"token":{"hello":{}}}"#));
    assert!(!hello(r#"{"seq":1,"hello":{}"#));
}
