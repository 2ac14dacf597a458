//! Properties of the decoder for any text.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::decode::{decode, decode_slowly};
use super::decode_tests::LIMITS;
use super::{
    ListQuery, decode_beats_body, decode_content, decode_export, decode_forgetting, decode_get_body, decode_list_query,
    decode_recording_body, decode_revoke_body, decode_revoked, decode_user_body,
};
use crate::protocol::cursor;
use crate::protocol::frame::{Beats, ClientFrame, Cursor, Hello, Operation};
use model::beat::{Beat, State};
use model::content_name::ContentIds;
use model::ids::{Content, SessionId};
use model::page::{ListFilter, ListRequest, Position};
use model::rewards::day::Day;
use model::secret::Secret;

const EXACT: u64 = (1 << 53) - 1;
const SECRET: &str = "SECRET";

fn content() -> impl Strategy<Value = Content> {
    (any::<u16>(), any::<u64>()).prop_map(|(kind, oid)| Content { kind, oid })
}

fn beat() -> impl Strategy<Value = Beat> {
    let state = prop::sample::select(vec![State::Playing, State::Paused, State::Seeked, State::Ended]);
    // Rates are short numbers: the last bit of a long one may be rounded.
    let rate = prop_oneof![Just(1.0), any::<i16>().prop_map(|rate| f64::from(rate) / 16.0)];
    let watched = prop::option::of(0..=EXACT);
    (content(), 0..=EXACT, 0..=EXACT, state, any::<u64>(), watched, rate, 0..=EXACT).prop_map(
        |(content, pos, dur, state, session, watched, rate, at)| {
            let session = SessionId(session);
            Beat { content, pos, dur, state, session, watched, rate, at }
        },
    )
}

fn operation() -> impl Strategy<Value = Operation> {
    let hello = (prop::option::of(".{0,40}"), prop::option::of("[ -~]{0,64}"), prop::option::of(0..=EXACT))
        .prop_map(|(token, device, ack_delay)| (token.map(Secret::new), device, ack_delay))
        .prop_map(|(token, device, ack_delay)| Hello { token, device: device.clone(), client: device, ack_delay });
    let position = (0..=EXACT, content()).prop_map(|(at, content)| Position { at, content });
    let kinds = prop::collection::btree_set(any::<u16>(), 0..=32);
    let filter = (kinds, any::<Option<bool>>())
        .prop_map(|(kinds, finished)| ListFilter { kinds: kinds.into_iter().collect(), finished });
    let list = (1usize..=200, prop::option::of(position), filter).prop_map(|(limit, after, filter)| ListRequest {
        limit,
        after,
        filter,
    });
    let beats = (prop::option::of(any::<u16>().prop_map(Day::of_number)), prop::collection::vec(beat(), 0..=3));
    let contents = || prop::collection::vec(content(), 0..=2);
    prop_oneof![
        hello.prop_map(Operation::Hello),
        beats.prop_map(|(flag, items)| Operation::Beats(Beats { flag, items, names: Vec::new() })),
        contents().prop_map(|contents| Operation::Get { contents }),
        list.prop_map(Operation::List),
        (contents(), 0..=EXACT).prop_map(|(contents, at)| Operation::Delete { contents, names: Vec::new(), at }),
        (0..=EXACT).prop_map(|at| Operation::Clear { at }),
        (any::<bool>(), 0..=EXACT).prop_map(|(paused, at)| Operation::Recording { paused, at }),
        ".{0,80}".prop_map(|token| Operation::Token { token: Secret::new(token) }),
    ]
}

fn content_json(content: &Content) -> Value {
    json!({"kind": content.kind, "oid": content.oid.to_string()})
}

fn beat_json(beat: &Beat) -> Value {
    json!({
        "kind": beat.content.kind, "oid": beat.content.oid.to_string(), "pos": beat.pos, "dur": beat.dur,
        "state": beat.state.word(), "session": beat.session.0.to_string(), "watched": beat.watched,
        "rate": beat.rate, "at": beat.at,
    })
}

/// As a client would write it.
fn text_of(frame: &ClientFrame) -> String {
    let contents = |contents: &[Content]| contents.iter().map(content_json).collect::<Vec<_>>();
    let (name, mut operation) = match &frame.operation {
        Operation::Hello(hello) => (
            "hello",
            json!({
                "token": hello.token.as_ref().map(Secret::expose), "device": hello.device, "client": hello.client, "ack_delay": hello.ack_delay
            }),
        ),
        Operation::Beats(beats) => {
            let items: Vec<Value> = beats.items.iter().map(beat_json).collect();
            ("beats", json!({"flag": beats.flag.map(|day| day.to_string()), "items": items}))
        }
        Operation::Get { contents: asked } => ("get", json!({"items": contents(asked)})),
        Operation::List(ListRequest { limit, after, filter }) => {
            let cursor = after.map(|position| cursor::encode(&Cursor { position, filter: filter.clone() }));
            let ListFilter { kinds, finished } = filter;
            ("list", json!({"limit": limit, "cursor": cursor, "kinds": kinds, "finished": finished}))
        }
        Operation::Delete { contents: gone, at, .. } => ("delete", json!({"items": contents(gone), "at": at})),
        Operation::Clear { at } => ("clear", json!({"at": at})),
        Operation::Recording { paused, at } => ("recording", json!({"paused": paused, "at": at})),
        Operation::Token { token } => ("token", json!({"token": token.expose()})),
    };
    // A field without a value is left out.
    operation.as_object_mut().expect("made as an object").retain(|_, value| !value.is_null());
    json!({"seq": frame.seq, name: operation}).to_string()
}

fn frame() -> impl Strategy<Value = ClientFrame> {
    (1..=u32::MAX, operation()).prop_map(|(seq, operation)| ClientFrame { seq, operation })
}

/// A good frame, cut and mended in a few places.
fn mutated() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(String::new()),
        "[\\[\\]{}:,\"\\\\0-9eE.+-]{1,3}",
        prop::sample::select(vec!["null", "true", "-1", "1e400", "[]", "{}", "\"\\ud800\"", "\"at\":1,", "\"seq\":2,"])
            .prop_map(str::to_owned),
        ".{1,2}",
    ];
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, piece), 0..4);
    (frame(), edits).prop_map(|(frame, edits)| {
        let mut chars: Vec<char> = text_of(&frame).chars().collect();
        for (place, cut, piece) in edits {
            let start = place.index(chars.len() + 1);
            let end = (start + cut).min(chars.len());
            chars.splice(start..end, piece.chars());
        }
        chars.into_iter().collect()
    })
}

/// Any JSON value, with the secret in it here and there, under names that mean something.
fn json_value() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        SECRET, "seq", "hello", "beats", "list", "token", "items", "kind", "oid", "at", "state", "cursor", "device",
    ]);
    let leaf = prop_oneof![
        Just(json!(SECRET)),
        Just(json!(format!("x, expected {SECRET}"))),
        Just(json!(format!("x, expected {SECRET} at line 1 column 1"))),
        Just(json!(format!("duplicate field `{SECRET}`"))),
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        (-5i64..5).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..4)
                .prop_map(|fields| Value::from_iter(fields.into_iter().map(|(name, value)| (name.to_owned(), value)))),
        ]
    })
}

fn assert_decodes_or_says_why(text: &str) -> Result<(), TestCaseError> {
    let quick = decode(text, &LIMITS);
    prop_assert_eq!(&quick, &decode_slowly(text, &LIMITS), "the two passes disagree");
    if let Err(malformed) = quick {
        let (path, complaint) = malformed.message.split_once(": ").expect("a path, then a sentence");
        prop_assert!(path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._[]".contains(&byte)), "{}", path);
        prop_assert!(["must ", "is ", "has ", "appears ", "unknown "].iter().any(|verb| complaint.starts_with(verb)));
        prop_assert_ne!(complaint, "is not valid", "a complaint that has no words yet");
        prop_assert!(malformed.message.len() < 100 && !malformed.message.contains(SECRET));
        prop_assert!(malformed.seq.is_none_or(|seq| seq >= 1));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn an_encoded_frame_decodes_to_itself(frame in frame()) {
        let text = text_of(&frame);
        prop_assert_eq!(decode(&text, &LIMITS), Ok(frame));
    }

    #[test]
    fn a_mutated_frame_decodes_or_is_refused_with_a_reason(text in mutated()) {
        assert_decodes_or_says_why(&text)?;
    }

    #[test]
    fn any_json_decodes_or_is_refused_with_a_reason(value in json_value(), seq in 1u32..9) {
        assert_decodes_or_says_why(&value.to_string())?;
        for name in ["hello", "beats", "get", "list", "delete", "clear", "recording", "token", SECRET] {
            let text = json!({name: &value, "seq": seq}).to_string();
            assert_decodes_or_says_why(&text)?;
            let told = decode(&text, &LIMITS).map_or_else(|malformed| malformed.seq, |frame| Some(frame.seq));
            prop_assert_eq!(told, Some(seq), "the seq is told however broken the operation is");
        }
    }

    #[test]
    fn any_text_decodes_or_is_refused_with_a_reason(text in any::<String>()) {
        assert_decodes_or_says_why(&text)?;
    }

    #[test]
    fn no_body_and_no_query_makes_it_panic(body in any::<Vec<u8>>(), text in any::<String>(), frame in mutated()) {
        for bytes in [&body[..], text.as_bytes(), frame.as_bytes()] {
            let _ = decode_beats_body(bytes, &LIMITS);
            let _ = decode_get_body(bytes, &LIMITS);
            let _ = decode_recording_body(bytes);
            let _ = decode_user_body(bytes);
            let _ = decode_revoke_body(bytes);
        }
        for ids in [ContentIds::Number, ContentIds::Any] {
            let _ = decode_content(&text, &text, ids);
        }
        let _ = decode_forgetting(Some(&text), Some(&text));
        let given = Some(&text[..]);
        let query = ListQuery { limit: given, cursor: given, kinds: given, finished: given };
        let _ = decode_list_query(query, &LIMITS);
        for order in ["content", "newest", &text] {
            let _ = decode_export((Some("1"), None), given, given, Some(order));
        }
        let _ = (decode_revoked(given, None, None), decode_revoked(None, given, None));
        let _ = decode_revoked(None, None, Some(text));
    }
}
