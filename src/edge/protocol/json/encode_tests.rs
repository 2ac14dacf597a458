//! Server frames and HTTP answers as the protocol's page has them.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::auth::User;
use crate::protocol::frame::{Ack, Answer, ErrorCode, Rejection, ServerFrame, Telling, Welcome, WelcomeLimits};
use model::beat::State;
use model::content_name::{ContentName, ContentTexts};
use model::ids::{ConnectionId, Content, SessionId, UserId};
use model::push::Push;
use model::reading::Reading;
use model::record::Record;
use model::rewards::claim::ClaimKey;
use model::rewards::credit::Credit;
use model::rewards::day::Day;
use model::rule::Reason;
use model::user_name::UserName;
use model::version::Version;

const RECORD: &str = r#"{"kind":1,"oid":"100","pos":73200,"dur":300000,"state":"playing","session":"8311207","device":"tv-3f","watched":5000,"at":1795150000118,"progress":0.244,"finished":false,"resume":73200}"#;

fn reading() -> Reading {
    Reading {
        resume_below: 0.05,
        resume_below_max: Duration::ZERO,
        finished_at: 0.9,
        finished_remaining_max: Duration::ZERO,
        overrides: Vec::new(),
    }
}

fn record() -> Record {
    Record {
        content: Content { kind: 1, oid: 100 },
        pos: 73200,
        dur: 300_000,
        state: State::Playing,
        session: SessionId(8311207),
        device: Arc::from("tv-3f"),
        watched: 5000,
        at: 1795150000118,
        version: Version(1795150000118000),
        credit: Credit::default(),
    }
}

const NAME: &str = "a \"b\"";

/// The texts of one named content.
fn texts() -> ContentTexts {
    let name = ContentName::new(NAME).unwrap();
    [(name.oid(), name)].into_iter().collect()
}

fn named() -> Content {
    Content { kind: 1, oid: ContentName::new(NAME).unwrap().oid() }
}

fn day() -> Day {
    "2026-11-20".parse().unwrap()
}

fn rejection(seq: Option<u32>, index: u32, reason: Reason, record: Option<Record>) -> Rejection {
    Rejection { seq, index, reason, record }
}

fn encoded(frame: &ServerFrame) -> String {
    let (reading, texts) = (reading(), texts());
    let telling = Telling { reading: &reading, texts: &texts };
    let text = encode(frame, telling);
    let mut buffer = b"before ".to_vec();
    encode_into(frame, telling, &mut buffer);
    assert_eq!(buffer, format!("before {text}").into_bytes());
    text
}

fn result(answer: Answer) -> String {
    encoded(&ServerFrame::Result { seq: 3, answer })
}

#[test]
fn a_welcome() {
    let limits = WelcomeLimits {
        frame: 131_072,
        beats: 500,
        items: 500,
        list: 200,
        ack_delay: 30_000,
        connections: 32,
        frames_per_second: 20,
        burst: 100,
        bytes_per_second: 262_144,
        bytes_burst: 4_194_304,
        ping: 60_000,
        idle: 75_000,
    };
    let welcome = Welcome {
        user: User { id: UserId(u64::MAX), name: None },
        connection: ConnectionId(0xbeef),
        now: 1795150000123,
        today: day(),
        flag: None,
        interval_ms: 5000,
        paused: false,
        expires: 1795153600000,
        limits,
    };
    let name = UserName::new("auth0|\"1").unwrap();
    let named = Welcome { user: User { id: UserId(1), name: Some(name) }, ..welcome.clone() };
    let named = encoded(&ServerFrame::Welcome(Box::new(named)));
    assert!(named.starts_with(r#"{"welcome":{"mid":"1","sub":"auth0|\"1","connection":"#), "{named}");
    let decided = encoded(&ServerFrame::Welcome(Box::new(Welcome { flag: Some(day()), ..welcome.clone() })));
    assert!(decided.contains(r#""today":"2026-11-20","flag":"2026-11-20","interval":5000"#), "{decided}");
    assert_eq!(
        encoded(&ServerFrame::Welcome(Box::new(welcome))),
        r#"{"welcome":{"mid":"18446744073709551615","connection":"000000000000beef","now":1795150000123,"today":"2026-11-20","interval":5000,"recording":{"paused":false},"expires":1795153600000,"limits":{"frame":131072,"beats":500,"items":500,"list":200,"ack_delay":30000,"connections":32,"frames_per_second":20,"burst":100,"bytes_per_second":262144,"bytes_burst":4194304,"ping":60000,"idle":75000}}}"#
    );
}

#[test]
fn acks() {
    let ack = |rejected, now| encoded(&ServerFrame::Ack(Ack { seq: 2, flag: None, rejected, now }));
    let decided = Ack { seq: 2, flag: Some(day()), rejected: vec![], now: None };
    assert_eq!(encoded(&ServerFrame::Ack(decided)), r#"{"ack":{"seq":2,"flag":"2026-11-20"}}"#);
    assert_eq!(ack(vec![], None), r#"{"ack":{"seq":2}}"#);
    assert_eq!(
        ack(vec![rejection(Some(2), 0, Reason::Superseded, Some(record()))], None),
        format!(r#"{{"ack":{{"seq":2,"rejected":[{{"seq":2,"index":0,"reason":"superseded","record":{RECORD}}}]}}}}"#)
    );
    let reasons = [Reason::Invalid, Reason::Clock, Reason::Expired, Reason::NotStarted, Reason::NotRecording];
    let rejected = reasons.map(|reason| rejection(Some(2), 7, reason, None)).to_vec();
    let list = ["invalid", "clock", "expired", "not_started", "not_recording"]
        .map(|word| format!(r#"{{"seq":2,"index":7,"reason":"{word}"}}"#))
        .join(",");
    assert_eq!(ack(rejected, Some(9)), format!(r#"{{"ack":{{"seq":2,"now":9,"rejected":[{list}]}}}}"#));
}

#[test]
fn results() {
    assert_eq!(result(Answer::Done), r#"{"result":{"seq":3}}"#);
    assert_eq!(
        result(Answer::Records { records: vec![Some(record()), None], partial: false }),
        format!(r#"{{"result":{{"seq":3,"records":[{RECORD},null]}}}}"#)
    );
    let empty = |partial| result(Answer::Page { records: vec![], cursor: None, partial });
    assert_eq!(empty(false), r#"{"result":{"seq":3,"records":[]}}"#);
    assert_eq!(empty(true), r#"{"result":{"seq":3,"records":[],"partial":true}}"#);
    assert_eq!(
        result(Answer::Records { records: vec![None], partial: true }),
        r#"{"result":{"seq":3,"records":[null],"partial":true}}"#
    );
    assert_eq!(
        result(Answer::Page { records: vec![record()], cursor: Some("AQ".to_owned()), partial: false }),
        format!(r#"{{"result":{{"seq":3,"records":[{RECORD}],"cursor":"AQ"}}}}"#)
    );
    assert_eq!(result(Answer::Recording { paused: true }), r#"{"result":{"seq":3,"recording":{"paused":true}}}"#);
    assert_eq!(result(Answer::Token { expires: 9 }), r#"{"result":{"seq":3,"expires":9}}"#);
}

#[test]
fn errors() {
    let error = |seq, code, message: &str| encoded(&ServerFrame::Error { seq, code, message: message.to_owned() });
    assert_eq!(
        error(Some(3), ErrorCode::Invalid, "beats.items[0].pos: must not be negative"),
        r#"{"error":{"seq":3,"code":"invalid","message":"beats.items[0].pos: must not be negative","retry":false}}"#
    );
    assert_eq!(
        error(None, ErrorCode::Unavailable, "store: \"away\""),
        r#"{"error":{"code":"unavailable","message":"store: \"away\"","retry":true}}"#
    );
}

#[test]
fn pushes() {
    let push = |push| encoded(&ServerFrame::Push(push));
    assert_eq!(push(Push::Record(record())), format!(r#"{{"push":{{"record":{RECORD}}}}}"#));
    assert_eq!(
        push(Push::Deleted { contents: vec![record().content], at: 5 }),
        r#"{"push":{"deleted":[{"kind":1,"oid":"100"}],"at":5}}"#
    );
    assert_eq!(push(Push::Cleared { at: 5 }), r#"{"push":{"cleared":true,"at":5}}"#);
    assert_eq!(push(Push::Recording { paused: true }), r#"{"push":{"recording":{"paused":true}}}"#);
    assert_eq!(push(Push::Flag(day())), r#"{"push":{"flag":"2026-11-20"}}"#);
}

#[test]
fn a_reward() {
    let of_user = ClaimKey { rule: Arc::from("first-of-day"), day: day(), user: UserId(42), content: None };
    let of_content = ClaimKey { rule: Arc::from("first-view"), content: Some(record().content), ..of_user.clone() };
    assert_eq!(
        encoded(&ServerFrame::Reward(of_user.clone(), None)),
        r#"{"reward":{"id":"first-of-day:2026-11-20:42","rule":"first-of-day","day":"2026-11-20"}}"#
    );
    let content =
        r#"{"id":"first-view:2026-11-20:42:1:100","rule":"first-view","day":"2026-11-20","kind":1,"oid":"100"}"#;
    assert_eq!(encoded(&ServerFrame::Reward(of_content.clone(), None)), format!(r#"{{"reward":{content}}}"#));
    let today = format!(
        r#"{{"day":"2026-11-20","rewards":[{{"id":"first-of-day:2026-11-20:42","rule":"first-of-day","day":"2026-11-20"}},{content}]}}"#
    );
    assert_eq!(encode_rewards(day(), &[of_user, of_content], None, ContentTexts::NONE), today);
}

#[test]
fn a_bye() {
    assert_eq!(
        encoded(&ServerFrame::Bye { reason: "drain", reconnect_after_ms: 1834 }),
        r#"{"bye":{"reason":"drain","reconnect_after":1834}}"#
    );
}

#[test]
fn a_record_shows_what_it_means() {
    let shown = |record: Record| encode_record(&record, Telling { reading: &reading(), texts: ContentTexts::NONE });
    assert_eq!(shown(record()), RECORD);
    let unknown = Record { dur: 0, device: Arc::from(""), ..record() };
    assert_eq!(
        shown(unknown),
        r#"{"kind":1,"oid":"100","pos":73200,"dur":0,"state":"playing","session":"8311207","watched":5000,"at":1795150000118,"finished":false,"resume":73200}"#
    );
    let ends = |record: Record| shown(record).split_once(r#""progress""#).map(|(_, end)| end.to_owned()).unwrap();
    assert_eq!(ends(Record { pos: 100_000, ..record() }), r#":0.333,"finished":false,"resume":100000}"#);
    assert_eq!(ends(Record { pos: 14_999, ..record() }), r#":0.049,"finished":false,"resume":0}"#);
    assert_eq!(ends(Record { pos: 270_000, ..record() }), r#":0.9,"finished":true,"resume":0}"#);
    assert_eq!(ends(Record { pos: 300_900, ..record() }), r#":1.0,"finished":true,"resume":0}"#);
    assert_eq!(ends(Record { pos: 0, ..record() }), r#":0.0,"finished":false,"resume":0}"#);
}

#[test]
fn the_bodies_of_http_answers() {
    let rejected = [rejection(None, 1, Reason::Superseded, Some(record()))];
    let told = BeatsAnswer { now: 9, today: day(), flag: None, rejected: &rejected, rewards: &[], name: None };
    assert_eq!(
        encode_beats_answer(&told, Telling { reading: &reading(), texts: ContentTexts::NONE }),
        format!(
            r#"{{"now":9,"today":"2026-11-20","rejected":[{{"index":1,"reason":"superseded","record":{RECORD}}}],"rewards":[]}}"#
        )
    );
    let claim = ClaimKey { rule: Arc::from("first-of-day"), day: day(), user: UserId(42), content: None };
    let told = BeatsAnswer { flag: Some(day()), rejected: &[], rewards: &[claim], ..told };
    assert_eq!(
        encode_beats_answer(&told, Telling { reading: &reading(), texts: ContentTexts::NONE }),
        r#"{"now":9,"today":"2026-11-20","flag":"2026-11-20","rejected":[],"rewards":[{"id":"first-of-day:2026-11-20:42","rule":"first-of-day","day":"2026-11-20"}]}"#
    );
    assert_eq!(
        encode_records(&[None, Some(record())], false, Telling { reading: &reading(), texts: ContentTexts::NONE }),
        format!(r#"{{"records":[null,{RECORD}]}}"#)
    );
    assert_eq!(
        encode_page(&[record()], None, false, Telling { reading: &reading(), texts: ContentTexts::NONE }),
        format!(r#"{{"records":[{RECORD}]}}"#)
    );
    assert_eq!(
        encode_page(&[], Some("AQ"), true, Telling { reading: &reading(), texts: ContentTexts::NONE }),
        r#"{"records":[],"cursor":"AQ","partial":true}"#
    );
    assert_eq!(encode_recording(true), r#"{"paused":true}"#);
}

#[test]
fn a_content_is_told_by_its_name() {
    let record = || Record { content: named(), ..record() };
    let shown = RECORD.replace(r#""oid":"100""#, r#""oid":"a \"b\"""#);
    let rejected = vec![rejection(Some(2), 0, Reason::Superseded, Some(record()))];
    let claim = ClaimKey { rule: "first-view".into(), day: day(), user: UserId(42), content: Some(named()) };
    for (frame, part) in [
        (ServerFrame::Push(Push::Record(record())), format!(r#"{{"record":{shown}}}"#)),
        (
            ServerFrame::Push(Push::Deleted { contents: vec![named()], at: 5 }),
            r#"{"deleted":[{"kind":1,"oid":"a \"b\""}],"at":5}"#.to_owned(),
        ),
        (ServerFrame::Ack(Ack { seq: 2, flag: None, rejected, now: None }), format!(r#""record":{shown}"#)),
        (
            ServerFrame::Result { seq: 1, answer: Answer::Records { records: vec![Some(record())], partial: false } },
            format!(r#""records":[{shown}]"#),
        ),
        (
            ServerFrame::Reward(claim, None),
            r#"{"id":"first-view:2026-11-20:42:1:a%20%22b%22","rule":"first-view","day":"2026-11-20","kind":1,"oid":"a \"b\""}"#
                .to_owned(),
        ),
    ] {
        assert_eq!(frame.contents().collect::<Vec<_>>(), [named()]);
        let text = encoded(&frame);
        assert!(text.contains(&part), "{text}");
    }
}
