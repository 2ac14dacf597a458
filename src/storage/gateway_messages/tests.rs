use std::sync::Arc;

use proptest::prelude::*;
use prost::Message;

use super::changes::{Sent, SentChange};
use super::*;
use model::beat::{Beat, State};
use model::change::{Action, Change, Outcome};
use model::ids::{ConnectionId, SessionId, UserId};
use model::record::Record;
use model::revocation::{Revocation, Revoked};
use model::rewards::claim::ClaimKey;
use model::rewards::credit::Credit;
use model::rewards::decided::DecidedRules;
use model::rewards::reward_notice::RewardNotice;
use model::rewards::rule::RuleSet;
use model::rule::{Reason, Verdict};
use model::sender::Sender;
use model::version::Version;
use model::visitor::{Country, DeviceClass, Os, Visitor};

const USER: UserId = UserId(u64::MAX);

fn content() -> impl Strategy<Value = Content> {
    (any::<u16>(), any::<u64>()).prop_map(|(kind, oid)| Content { kind, oid })
}

fn day() -> impl Strategy<Value = Option<Day>> {
    prop::option::of(any::<u16>().prop_map(Day::of_number))
}

fn beat() -> impl Strategy<Value = Beat> {
    let state = prop_oneof![Just(State::Playing), Just(State::Paused), Just(State::Seeked), Just(State::Ended)];
    (content(), state, any::<[u64; 4]>(), any::<Option<u64>>(), 0.0..16.0).prop_map(
        |(content, state, [pos, dur, session, at], watched, rate)| Beat {
            content,
            pos,
            dur,
            state,
            session: SessionId(session),
            watched,
            rate,
            at,
        },
    )
}

fn visitor() -> impl Strategy<Value = Visitor> {
    (prop::option::of(0..DeviceClass::ALL.len()), any::<bool>()).prop_map(|(class, known)| Visitor {
        device: class.map(|class| DeviceClass::ALL[class]),
        os: known.then(|| Os::of("Android")).flatten(),
        browser: None,
        country: known.then(|| Country::of("DE")).flatten(),
    })
}

fn order() -> impl Strategy<Value = Action> {
    prop_oneof![
        (prop::collection::vec(content(), 0..4), any::<u64>())
            .prop_map(|(contents, at)| Action::Delete { contents, at }),
        any::<u64>().prop_map(|at| Action::Clear { at }),
        (any::<bool>(), any::<u64>()).prop_map(|(paused, at)| Action::Recording { paused, at }),
        (1_u64..).prop_map(|at| Action::Erase { at }),
    ]
}

fn record() -> impl Strategy<Value = Record> {
    (beat(), any::<u32>()).prop_map(|(beat, above)| {
        let last = Version(Version::first_of(beat.at).0.saturating_add(above.into()).saturating_sub(1));
        Record::of(&Beat { at: beat.at >> 12, ..beat }, Arc::from("tv"), last, Credit::default())
    })
}

fn reason() -> impl Strategy<Value = Reason> {
    prop_oneof![
        Just(Reason::Invalid),
        Just(Reason::Clock),
        Just(Reason::Expired),
        Just(Reason::NotStarted),
        Just(Reason::NotRecording),
        Just(Reason::Superseded)
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let verdict = prop_oneof![
        any::<(bool, u64)>().prop_map(|(steady, kept_dur)| Verdict::Written { steady, kept_dur }),
        Just(Verdict::Same),
        (reason(), prop::option::of(record())).prop_map(|(reason, record)| Verdict::Rejected { reason, record }),
    ];
    prop_oneof![
        (verdict, 0_usize..512).prop_map(|(verdict, skipped)| Outcome::Beat { verdict, skipped }),
        (prop::collection::vec(content(), 0..4), any::<u64>()).prop_map(|(moved, at)| Outcome::Deleted { moved, at }),
        (any::<bool>(), any::<u64>()).prop_map(|(moved, at)| Outcome::Cleared { moved, at }),
        (any::<[bool; 2]>(), any::<u64>()).prop_map(|([resumed, moved], at)| Outcome::Erased { resumed, moved, at }),
        any::<[bool; 2]>().prop_map(|[changed, paused]| Outcome::Recording { changed, paused }),
        Just(Outcome::Ahead),
        "\\PC{0,20}".prop_map(|why| Outcome::Unreadable { why: why.into() }),
    ]
}

/// Through bytes, as a call takes it.
fn sent<M: Message + Default>(message: &M) -> M {
    M::decode(&*message.encode_to_vec()).expect("its own bytes")
}

proptest! {
    #[test]
    fn beats_arrive_as_they_were_sent(
        beats in prop::collection::vec(beat(), 1..5),
        (device, connection) in ("\\PC{0,16}", any::<u64>()),
        (visitor, user, content) in (visitor(), day(), day()),
    ) {
        let (newest, earlier) = beats.split_last().expect("at least one");
        let (beat, earlier, device) = (*newest, earlier.to_vec(), Arc::<str>::from(device));
        let action = Action::Beat { beat, earlier, device: device.clone(), asks: RuleSet::NONE };
        let known = DecidedRules { user, content };
        let sender = Sender { connection: ConnectionId(connection), visitor, known };
        let arrived = changes::decode(sent(&changes::encode(&Change { user: USER, action }, &sender)), 0).expect("read");
        let SentChange { user, sender, what: Sent::Beats { device: name, beats: all } } = arrived else { panic!("beats") };
        prop_assert_eq!((user, sender.connection, sender.visitor), (USER, ConnectionId(connection), visitor));
        prop_assert_eq!((sender.known, name, all), (known, device, beats));
    }

    #[test]
    fn orders_arrive_as_they_were_sent(action in order()) {
        let visitor = Visitor::default();
        let sender = Sender { connection: ConnectionId(1), visitor, known: DecidedRules::default() };
        let change = Change { user: USER, action };
        let arrived = changes::decode(sent(&changes::encode(&change, &sender)), 0).expect("read");
        let Sent::Order(order) = arrived.what else { panic!("an order") };
        prop_assert_eq!(format!("{order:?}"), format!("{:?}", change.action));
    }

    #[test]
    fn answers_arrive_as_they_were_sent(
        beat in beat(),
        outcome in outcome(),
        news in prop::option::of((day(), day(), any::<bool>())),
    ) {
        let news = news.map(|(flag, day, claimed)| {
            let day = day.unwrap_or_default();
            let claim = ClaimKey { rule: "first-view".into(), day, user: USER, content: Some(beat.content) };
            RewardNotice { claims: claimed.then_some(claim).into_iter().collect(), flag, contents: vec![(day, beat.content)] }
        });
        let change = Change { user: USER, action: Action::beat(beat, "tv".into(), RuleSet::NONE) };
        let answer = Some((outcome, news));
        prop_assert_eq!(answers::decode(&change, sent(&answers::encode(&answer))), Ok(answer));
    }

    #[test]
    fn random_bytes_never_make_the_decoders_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(change) = wire::Change::decode(&*bytes) {
            let _ = changes::decode(change, 0);
        }
        if let Ok(page) = wire::ListResponse::decode(&*bytes) {
            let _ = pages::decode_page(&page);
        }
    }

    #[test]
    fn records_arrive_as_they_were_sent(found in prop::collection::vec(prop::option::of(record()), 0..4)) {
        let arrived: Vec<_> = records::encode_found(&found).iter().map(sent).collect();
        prop_assert_eq!(records::decode_found(&arrived), Ok(found));
    }
}

#[test]
fn what_was_not_answered_is_unknown() {
    let change = Change { user: USER, action: Action::Erase { at: 1 } };
    assert_eq!(answers::decode(&change, sent(&answers::encode(&None))), Ok(None));
}

#[test]
fn an_erasure_of_an_older_gateway_counts_from_its_arrival() {
    let order = wire::Order { order: Some(wire::order::Order::Erase(true)), at: 0 };
    let arrived = changes::decode(wire::Change { order: Some(order), ..wire::Change::default() }, 7).expect("read");
    assert!(matches!(arrived.what, Sent::Order(Action::Erase { at: 7 })), "{arrived:?}");
}

#[test]
fn revocations_arrive_as_they_were_sent() {
    for what in [Revoked::User(USER), Revoked::User(UserId(0)), Revoked::Token("jti".into())] {
        let revocation = Revocation { what, at_ms: 5, until_ms: Some(0) };
        assert_eq!(revocations::decode(sent(&revocations::encode(&revocation))), revocation);
    }
}

#[test]
fn a_steady_beat_is_compact() {
    let at = 1_795_150_000_000;
    let content = Content { kind: 1, oid: 1_000_000 };
    let (state, session) = (State::Playing, SessionId(u64::MAX));
    let beat = Beat { content, pos: 73_200, dur: 300_000, state, session, watched: Some(60_000), rate: 1.0, at };
    let change = Change { user: UserId(1_000_000), action: Action::beat(beat, "tv-3f".into(), RuleSet::NONE) };
    let (visitor, known) = (Visitor::default(), DecidedRules::default());
    let sender = Sender { connection: ConnectionId(u64::MAX), visitor, known };
    let bytes = changes::encode(&change, &sender).encoded_len();
    assert!(bytes <= 80, "{bytes} bytes");
    let steady = Some((Outcome::Beat { verdict: Verdict::written(true), skipped: 0 }, None));
    assert!(answers::encode(&steady).encoded_len() <= 8);
}
