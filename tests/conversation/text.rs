//! Frames of clients, as text.

use std::fmt::Write;

use heartline::model::beat::{Beat, State};
use heartline::model::ids::{Content, SessionId};

pub fn content(oid: u64) -> Content {
    Content { kind: 1, oid }
}

/// One that is taken.
pub fn beat(oid: u64, session: u64, at: u64) -> Beat {
    let (content, session) = (content(oid), SessionId(session));
    Beat { content, pos: 1_000, dur: 0, state: State::Playing, session, watched: Some(1_000), rate: 1.0, at }
}

pub fn beats(seq: u32, items: &[Beat]) -> String {
    let mut text = format!(r#"{{"seq":{seq},"beats":{{"items":["#);
    for (index, beat) in items.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let Beat { content, pos, dur, session, at, .. } = beat;
        let watched = beat.watched_ms();
        write!(
            text,
            r#"{comma}{{"kind":{},"oid":"{}","pos":{pos},"dur":{dur},"state":"playing","session":"{}","watched":{watched},"at":{at}}}"#,
            content.kind, content.oid, session.0
        )
        .unwrap();
    }
    text + "]}}"
}

/// One beat of a content with a name.
pub fn named(seq: u32, name: &str, at: u64) -> String {
    format!(
        r#"{{"seq":{seq},"beats":{{"items":[{{"kind":1,"oid":"{name}","pos":1000,"state":"playing","session":"1","watched":1000,"at":{at}}}]}}}}"#
    )
}

/// The same in so many bytes more: unknown fields are ignored.
pub fn padded(text: String, bytes: usize) -> String {
    format!(r#"{{"padding":"{}",{}"#, " ".repeat(bytes), &text[1..])
}

pub fn get(seq: u32, oids: &[u64]) -> String {
    format!(r#"{{"seq":{seq},"get":{{"items":[{}]}}}}"#, items(oids))
}

pub fn list(seq: u32) -> String {
    format!(r#"{{"seq":{seq},"list":{{}}}}"#)
}

pub fn delete(seq: u32, oids: &[u64], at: u64) -> String {
    format!(r#"{{"seq":{seq},"delete":{{"items":[{}],"at":{at}}}}}"#, items(oids))
}

pub fn clear(seq: u32, at: u64) -> String {
    format!(r#"{{"seq":{seq},"clear":{{"at":{at}}}}}"#)
}

pub fn hello(seq: u32, ack_delay: u64) -> String {
    format!(r#"{{"seq":{seq},"hello":{{"ack_delay":{ack_delay}}}}}"#)
}

pub fn token(seq: u32, token: &str) -> String {
    format!(r#"{{"seq":{seq},"token":{{"token":"{token}"}}}}"#)
}

fn items(oids: &[u64]) -> String {
    let items: Vec<String> = oids.iter().map(|oid| format!(r#"{{"kind":1,"oid":"{oid}"}}"#)).collect();
    items.join(",")
}
