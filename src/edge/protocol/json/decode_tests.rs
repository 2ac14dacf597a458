//! Client frames as the protocol's page has them, and every way to get one wrong.

use serde_json::json;

use super::decode;
use crate::limits::config::{BEAT_BYTES_MAX, CONTENT_NAME_BYTES_MAX};
use crate::protocol::cursor;
use crate::protocol::frame::{Beats, ClientFrame, Cursor, DecodeError, ErrorCode, FrameLimits, Hello, Operation};
use model::beat::{Beat, State};
use model::content_name::{ContentIds, ContentName};
use model::ids::{Content, SessionId};
use model::page::{ListFilter, ListRequest, Position};
use model::secret::Secret;

pub(super) const LIMITS: FrameLimits = FrameLimits { ids: ContentIds::Number, beats: 3, items: 2, list: 200 };
const VIDEO: Content = Content { kind: 1, oid: 100 };
const POSITION: Position = Position { at: 1795150000118, content: VIDEO };

fn frame(seq: u32, operation: Operation) -> Result<ClientFrame, DecodeError> {
    Ok(ClientFrame { seq, operation })
}

fn of_kinds(kinds: &[u16]) -> ListFilter {
    ListFilter { kinds: kinds.to_vec(), finished: None }
}

fn page(limit: usize, after: Option<Position>, kinds: &[u16]) -> Operation {
    Operation::List(ListRequest { limit, after, filter: of_kinds(kinds) })
}

fn decoded(text: &str) -> Operation {
    decode(text, &LIMITS).unwrap_or_else(|malformed| panic!("{text}: {malformed:?}")).operation
}

#[test]
fn the_examples_of_the_protocol_decode() {
    let text = r#"{"seq":1,"hello":{"token":"eyJ…","device":"tv-3f","client":"heartline-js/1.0","ack_delay":0}}"#;
    let hello = Hello {
        token: Some(Secret::new("eyJ…".to_owned())),
        device: Some("tv-3f".to_owned()),
        client: Some("heartline-js/1.0".to_owned()),
        ack_delay: Some(0),
    };
    assert_eq!(decode(text, &LIMITS), frame(1, Operation::Hello(hello)));

    let text = r#"{"seq":2,"beats":{"flag":"2026-11-19","items":[{"kind":1,"oid":"100","pos":73200,"dur":300000,"state":"playing","session":"8311207","watched":5000,"rate":1.0,"at":1795150000118}]}}"#;
    let beat = Beat {
        content: VIDEO,
        pos: 73200,
        dur: 300_000,
        state: State::Playing,
        session: SessionId(8311207),
        watched: Some(5000),
        rate: 1.0,
        at: 1795150000118,
    };
    let beats = Beats { flag: "2026-11-19".parse().ok(), items: vec![beat], names: Vec::new() };
    assert_eq!(decode(text, &LIMITS), frame(2, Operation::Beats(beats)));

    let text = r#"{"seq":3,"get":{"items":[{"kind":1,"oid":"100"}]}}"#;
    assert_eq!(decode(text, &LIMITS), frame(3, Operation::Get { contents: vec![VIDEO] }));

    let cursor = cursor::encode(&Cursor { position: POSITION, filter: of_kinds(&[1]) });
    let text = format!(r#"{{"seq":4,"list":{{"limit":20,"cursor":"{cursor}","kinds":[1]}}}}"#);
    assert_eq!(decode(&text, &LIMITS), frame(4, page(20, Some(POSITION), &[1])));

    let text = r#"{"seq":5,"delete":{"items":[{"kind":1,"oid":"100"}],"at":1795150000500}}"#;
    assert_eq!(
        decode(text, &LIMITS),
        frame(5, Operation::Delete { contents: vec![VIDEO], names: vec![], at: 1795150000500 })
    );
    let text = r#"{"seq":6,"clear":{"at":1795150000600}}"#;
    assert_eq!(decode(text, &LIMITS), frame(6, Operation::Clear { at: 1795150000600 }));
    let text = r#"{"seq":7,"recording":{"paused":true,"at":1795150000700}}"#;
    assert_eq!(decode(text, &LIMITS), frame(7, Operation::Recording { paused: true, at: 1795150000700 }));
    let text = r#"{"seq":8,"token":{"token":"eyJ…"}}"#;
    assert_eq!(decode(text, &LIMITS), frame(8, Operation::Token { token: Secret::new("eyJ…".to_owned()) }));
}

#[test]
fn a_beat_needs_only_six_fields() {
    let text = r#" { "seq" : 4294967295 , "beats" : { "items" : [ { "kind" : 0 , "oid" : "0" , "pos" : 0 , "state" : "ended" , "session" : "18446744073709551615" , "at" : 0 } ] } } "#;
    let beat = Beat {
        content: Content { kind: 0, oid: 0 },
        pos: 0,
        dur: 0,
        state: State::Ended,
        session: SessionId(u64::MAX),
        watched: None,
        rate: 1.0,
        at: 0,
    };
    let beats = Operation::Beats(Beats { flag: None, items: vec![beat], names: Vec::new() });
    assert_eq!(decode(text, &LIMITS), frame(u32::MAX, beats));
}

#[test]
fn unknown_names_are_ignored() {
    let clear = || frame(1, Operation::Clear { at: 5 });
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(decode(r#"{"frob":{"at":1},"seq":1,"clear":{"at":5},"frob":null}"#, &LIMITS), clear());
    assert_eq!(decode(r#"{"seq":1,"clear":{"at":5,"why":[{"a":1e999}],"why":"\ud800"}}"#, &LIMITS), clear());
    assert_eq!(decode(&format!(r#"{{"x":{deep},"seq":1,"clear":{{"x":{deep},"at":5}}}}"#), &LIMITS), clear());
    assert_eq!(decode(r#"{"s\u0065q":1,"cl\u0065ar":{"\u0061t":5}}"#, &LIMITS), clear());
    assert_eq!(decoded(r#"{"seq":1,"hello":{"unknown":null}}"#), Operation::Hello(Hello::default()));
}

#[test]
fn ids_are_strings_of_digits_or_exact_integers() {
    let oid = |oid: &str| match decoded(&format!(r#"{{"seq":1,"get":{{"items":[{{"kind":65535,"oid":{oid}}}]}}}}"#)) {
        Operation::Get { contents } => contents[0].oid,
        other => panic!("{other:?}"),
    };
    assert_eq!(oid("9007199254740991"), (1 << 53) - 1);
    assert_eq!(oid(r#""18446744073709551615""#), u64::MAX);
    assert_eq!(oid(&format!(r#""{}7""#, "0".repeat(100))), 7);
    assert_eq!(oid(r#""\u0031\u0032""#), 12);
}

#[test]
fn a_rate_is_any_number() {
    for (rate, expected) in [("2", 2.0), ("-1", -1.0), ("0", 0.0), ("1e3", 1000.0), ("17.5", 17.5)] {
        let text = format!(
            r#"{{"seq":1,"beats":{{"items":[{{"rate":{rate},"kind":1,"oid":"1","pos":0,"state":"paused","session":"1","at":1}}]}}}}"#
        );
        let Operation::Beats(beats) = decoded(&text) else { panic!("{text}") };
        assert_eq!(beats.items[0].rate, expected);
    }
}

#[test]
fn a_list_has_defaults_and_its_limit_is_clamped() {
    assert_eq!(decoded(r#"{"seq":1,"list":{}}"#), page(20, None, &[]));
    assert_eq!(decoded(r#"{"seq":1,"list":{"limit":1,"kinds":[]}}"#), page(1, None, &[]));
    assert_eq!(decoded(r#"{"seq":1,"list":{"limit":200}}"#), page(200, None, &[]));
    assert_eq!(decoded(r#"{"seq":1,"list":{"limit":9007199254740991}}"#), page(200, None, &[]));
    assert_eq!(decoded(r#"{"seq":1,"list":{"kinds":[3,1,3]}}"#), page(20, None, &[1, 3]));
    let few = FrameLimits { list: 10, ..LIMITS };
    assert_eq!(decode(r#"{"seq":1,"list":{}}"#, &few).unwrap().operation, page(10, None, &[]));
}

#[test]
fn a_cursor_carries_the_kinds() {
    let list = |kinds: &[u16], beside: &str| {
        let cursor = cursor::encode(&Cursor { position: POSITION, filter: of_kinds(kinds) });
        decode(&format!(r#"{{"seq":1,"list":{{"cursor":"{cursor}"{beside}}}}}"#), &LIMITS)
    };
    let goes_on = |kinds: &[u16]| frame(1, page(20, Some(POSITION), kinds));
    assert_eq!(list(&[3, 1], ""), goes_on(&[1, 3]));
    assert_eq!(list(&[3, 1], r#","kinds":[]"#), goes_on(&[1, 3]));
    assert_eq!(list(&[3, 1], r#","kinds":[3,1,1]"#), goes_on(&[1, 3]));
    assert_eq!(list(&[], r#","kinds":[]"#), goes_on(&[]));
    for (kinds, beside) in [(&[1, 3][..], "[1]"), (&[1, 3], "[1,2,3]"), (&[], "[1]")] {
        let malformed = list(kinds, &format!(r#","kinds":{beside}"#)).unwrap_err();
        assert_eq!(malformed.message, "list.kinds: must be those of the cursor");
        assert_eq!((malformed.seq, malformed.code), (Some(1), ErrorCode::Invalid));
    }
}

#[test]
fn a_list_may_be_of_what_is_finished_or_of_what_is_not() {
    let list = |finished| {
        let filter = ListFilter { kinds: vec![1], finished };
        frame(1, Operation::List(ListRequest { limit: 20, after: None, filter }))
    };
    for (text, finished) in [("true", Some(true)), ("false", Some(false)), ("null", None)] {
        let text = format!(r#"{{"seq":1,"list":{{"kinds":[1],"finished":{text}}}}}"#);
        assert_eq!(decode(&text, &LIMITS), list(finished));
    }
}

#[test]
fn a_cursor_carries_whether_the_records_are_finished() {
    let list = |known, beside: &str| {
        let cursor =
            cursor::encode(&Cursor { position: POSITION, filter: ListFilter { kinds: vec![], finished: known } });
        decode(&format!(r#"{{"seq":1,"list":{{"cursor":"{cursor}"{beside}}}}}"#), &LIMITS)
    };
    for known in [None, Some(false), Some(true)] {
        let filter = ListFilter { kinds: vec![], finished: known };
        let goes_on =
            || frame(1, Operation::List(ListRequest { limit: 20, after: Some(POSITION), filter: filter.clone() }));
        assert_eq!(list(known, ""), goes_on());
        assert_eq!(list(known, r#","finished":null"#), goes_on());
        for given in [false, true] {
            let answer = list(known, &format!(r#","finished":{given}"#));
            if known == Some(given) {
                assert_eq!(answer, goes_on());
                continue;
            }
            let malformed = answer.unwrap_err();
            assert_eq!(malformed.message, "list.finished: must be that of the cursor");
            assert_eq!((malformed.seq, malformed.code), (Some(1), ErrorCode::Invalid));
        }
    }
}

#[test]
fn texts_are_bounded_in_bytes() {
    let hello = |field: &str, text: &str| decode(&format!(r#"{{"seq":1,"hello":{{"{field}":"{text}"}}}}"#), &LIMITS);
    for (field, max) in [("device", 64), ("client", 64), ("token", 4096)] {
        assert!(hello(field, &"x".repeat(max)).is_ok());
        // Two bytes each.
        assert!(hello(field, &"é".repeat(max / 2)).is_ok());
        let malformed = hello(field, &"é".repeat(max / 2 + 1)).unwrap_err();
        assert_eq!(malformed.message, format!("hello.{field}: must be at most {max} bytes long"));
        assert!(malformed.hello);
    }
}

#[test]
fn beats_of_full_size_fit_into_a_frame() {
    let beat = r#"{"kind":65535,"oid":"18446744073709551615","pos":9007199254740991,"dur":9007199254740991,"state":"playing","session":"18446744073709551615","watched":9007199254740991,"rate":15.999999999999998,"at":9007199254740991}"#;
    let items = vec![beat; 500].join(",");
    let text = format!(r#"{{"seq":4294967295,"beats":{{"flag":"2026-11-20","items":[{items}]}}}}"#);
    assert!(text.len() <= 131_072, "{}", text.len());
    assert!(decode(&text, &FrameLimits { beats: 500, ..LIMITS }).is_ok());
}

const NAMED: FrameLimits = FrameLimits { ids: ContentIds::Any, ..LIMITS };

fn name(text: &str) -> ContentName {
    ContentName::new(text).unwrap()
}

#[test]
fn an_oid_may_be_a_name() {
    let beat = |oid: &str| {
        format!(
            r#"{{"seq":1,"beats":{{"items":[{{"kind":1,"oid":{oid},"pos":7,"state":"playing","session":"8","at":9}}]}}}}"#
        )
    };
    for text in ["the-wire/s01e01", "100", "0100", "\u{e9}", "a \"b\""] {
        let Ok(ClientFrame { operation: Operation::Beats(beats), .. }) =
            decode(&beat(&json!(text).to_string()), &NAMED)
        else {
            panic!("{text}");
        };
        assert_eq!(beats.items[0].content, Content { kind: 1, oid: name(text).oid() });
        assert_eq!(beats.names, [name(text)]);
    }
    let message = |oid: &str| decode(&beat(oid), &NAMED).unwrap_err().message;
    assert_eq!(message("100"), "beats.items[0].oid: must be a string");
    assert_eq!(message(r#""""#), "beats.items[0].oid: must be from 1 to 128 bytes long");
    assert_eq!(message(r#""..""#), r#"beats.items[0].oid: must not be "." or "..", which URLs cannot hold"#);
    assert_eq!(message(r#""a\u0000""#), "beats.items[0].oid: must not contain control characters");

    let items = r#"[{"kind":1,"oid":"b"},{"kind":2,"oid":"a"}]"#;
    let contents = vec![Content { kind: 1, oid: name("b").oid() }, Content { kind: 2, oid: name("a").oid() }];
    let get = decode(&format!(r#"{{"seq":1,"get":{{"items":{items}}}}}"#), &NAMED);
    assert_eq!(get, frame(1, Operation::Get { contents: contents.clone() }));
    let delete = decode(&format!(r#"{{"seq":1,"delete":{{"items":{items},"at":5}}}}"#), &NAMED);
    assert_eq!(delete, frame(1, Operation::Delete { contents, names: vec![name("b"), name("a")], at: 5 }));
}

#[test]
fn beats_with_the_longest_names_fit_into_a_frame() {
    let oid = "\\\"".repeat(ContentName::BYTES_MAX);
    let beat = format!(
        r#"{{"kind":65535,"oid":"{oid}","pos":9007199254740991,"dur":9007199254740991,"state":"playing","session":"18446744073709551615","watched":9007199254740991,"rate":15.999999999999998,"at":9007199254740991}}"#
    );
    assert!(beat.len() <= BEAT_BYTES_MAX + CONTENT_NAME_BYTES_MAX, "{}", beat.len());
    let text =
        format!(r#"{{"seq":4294967295,"beats":{{"flag":"2026-11-20","items":[{}]}}}}"#, vec![beat; 500].join(","));
    assert!(text.len() <= 262_144, "{}", text.len());
    assert!(decode(&text, &FrameLimits { beats: 500, ..NAMED }).is_ok());
}
