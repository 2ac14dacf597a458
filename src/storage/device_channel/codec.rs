//! Messages as bytes: protobuf, so that fields can be added while gateways of two versions run side by side.
//!
//! A message of a later format, or without a required field, is a [`DecodeError`]. Its receiver skips it.

use prost::{Message, Oneof};

use super::{Announcement, UserChange};
use crate::stored_content::StoredContent;
use model::ids::{ConnectionId, Content, GatewayId, UserId};
use model::push::Push;
use model::record::Record;
use model::rewards::day::Day;

/// The version of the format. A change that an older gateway would misread increments it.
const FORMAT: u32 = 1;

/// A message received on any channel.
#[derive(Clone, Debug, PartialEq)]
pub enum PeerMessage {
    UserChange(UserChange),
    Announced(Announcement),
}

/// Bytes that are no message of a gateway of this version.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unreadable message of another gateway: {0}")]
pub struct DecodeError(String);

#[derive(Clone, PartialEq, Message)]
struct SentMessage {
    #[prost(uint32, tag = "1")]
    format: u32,
    #[prost(fixed64, tag = "2")]
    gateway: u64,
    #[prost(fixed64, tag = "3")]
    origin: u64,
    #[prost(bool, tag = "4")]
    steady: bool,
    /// The time of a kick.
    #[prost(uint64, tag = "13")]
    at: u64,
    #[prost(oneof = "SentBody", tags = "5, 6, 7, 8, 9, 10, 11, 12")]
    body: Option<SentBody>,
}

#[derive(Clone, PartialEq, Oneof)]
enum SentBody {
    #[prost(message, tag = "5")]
    Record(SentRecord),
    #[prost(message, tag = "6")]
    Deleted(SentDeleted),
    /// `at`.
    #[prost(uint64, tag = "7")]
    Cleared(u64),
    /// Paused.
    #[prost(bool, tag = "8")]
    Recording(bool),
    /// The day, since 1970-01-01.
    #[prost(uint32, tag = "9")]
    Flag(u32),
    #[prost(uint64, tag = "10")]
    Kicked(u64),
    #[prost(uint64, tag = "11")]
    Erased(u64),
    #[prost(bool, tag = "12")]
    Revocations(bool),
}

#[derive(Clone, PartialEq, Message)]
struct SentContent {
    #[prost(uint32, tag = "1")]
    kind: u32,
    #[prost(uint64, tag = "2")]
    oid: u64,
}

#[derive(Clone, PartialEq, Message)]
struct SentDeleted {
    #[prost(message, repeated, tag = "1")]
    contents: Vec<SentContent>,
    #[prost(uint64, tag = "2")]
    at: u64,
}

#[derive(Clone, PartialEq, Message)]
struct SentRecord {
    #[prost(uint32, tag = "1")]
    kind: u32,
    #[prost(uint64, tag = "2")]
    oid: u64,
    #[prost(message, required, tag = "3")]
    stored: StoredContent,
}

pub fn encode_change(gateway: GatewayId, change: &UserChange) -> Vec<u8> {
    let body = match &change.push {
        Push::Record(record) => {
            let Content { kind, oid } = record.content;
            SentBody::Record(SentRecord { kind: kind.into(), oid, stored: StoredContent::of(record) })
        }
        Push::Deleted { contents, at } => {
            let sent = |content: &Content| SentContent { kind: content.kind.into(), oid: content.oid };
            SentBody::Deleted(SentDeleted { contents: contents.iter().map(sent).collect(), at: *at })
        }
        Push::Cleared { at } => SentBody::Cleared(*at),
        Push::Recording { paused } => SentBody::Recording(*paused),
        Push::Flag(day) => SentBody::Flag(day.number().into()),
    };
    SentMessage { origin: change.origin.0, steady: change.steady, ..sent(gateway, body) }.encode_to_vec()
}

pub fn encode_announcement(gateway: GatewayId, announcement: Announcement) -> Vec<u8> {
    let body = match announcement {
        Announcement::Kicked(user, _) => SentBody::Kicked(user.0),
        Announcement::Erased(user) => SentBody::Erased(user.0),
        Announcement::Revocations => SentBody::Revocations(true),
    };
    let at = if let Announcement::Kicked(_, at) = announcement { at } else { 0 };
    SentMessage { at, ..sent(gateway, body) }.encode_to_vec()
}

fn sent(gateway: GatewayId, body: SentBody) -> SentMessage {
    SentMessage { format: FORMAT, gateway: gateway.0, body: Some(body), ..SentMessage::default() }
}

pub fn decode(bytes: &[u8]) -> Result<(GatewayId, PeerMessage), DecodeError> {
    let message = SentMessage::decode(bytes).map_err(|error| DecodeError(error.to_string()))?;
    if message.format != FORMAT {
        return Err(DecodeError(format!("format {}, this version reads format {FORMAT}", message.format)));
    }
    let told = |push| {
        PeerMessage::UserChange(UserChange { origin: ConnectionId(message.origin), push, steady: message.steady })
    };
    let said = match message.body.ok_or_else(|| DecodeError("unknown content".to_owned()))? {
        SentBody::Record(record) => told(Push::Record(parse_record(record)?)),
        SentBody::Deleted(SentDeleted { contents, at }) => {
            let contents = contents.into_iter().map(|content| parse_content(content.kind, content.oid));
            told(Push::Deleted { contents: contents.collect::<Result<_, _>>()?, at })
        }
        SentBody::Cleared(at) => told(Push::Cleared { at }),
        SentBody::Recording(paused) => told(Push::Recording { paused }),
        SentBody::Flag(day) => told(Push::Flag(parse_day(day)?)),
        SentBody::Kicked(user) => PeerMessage::Announced(Announcement::Kicked(UserId(user), message.at)),
        SentBody::Erased(user) => PeerMessage::Announced(Announcement::Erased(UserId(user))),
        SentBody::Revocations(_) => PeerMessage::Announced(Announcement::Revocations),
    };
    Ok((GatewayId(message.gateway), said))
}

fn parse_record(sent: SentRecord) -> Result<Record, DecodeError> {
    let row = sent.stored.row(parse_content(sent.kind, sent.oid)?).map_err(|error| DecodeError(error.to_string()))?;
    row.record.ok_or_else(|| DecodeError("state 0".to_owned()))
}

fn parse_content(kind: u32, oid: u64) -> Result<Content, DecodeError> {
    let kind = u16::try_from(kind).map_err(|_| DecodeError(format!("kind {kind}")))?;
    Ok(Content { kind, oid })
}

fn parse_day(day: u32) -> Result<Day, DecodeError> {
    u16::try_from(day).map(Day::of_number).map_err(|_| DecodeError(format!("day {day}")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use model::beat::State;
    use model::ids::SessionId;
    use model::rewards::credit::Credit;
    use model::version::Version;

    const GATEWAY: GatewayId = GatewayId(7);

    fn content() -> impl Strategy<Value = Content> {
        (any::<u16>(), any::<u64>()).prop_map(|(kind, oid)| Content { kind, oid })
    }

    fn record() -> impl Strategy<Value = Record> {
        let state = prop_oneof![Just(State::Playing), Just(State::Paused), Just(State::Seeked), Just(State::Ended)];
        let numbers = any::<[u64; 8]>();
        (content(), state, any::<u16>(), "\\PC{0,64}", numbers).prop_map(|(content, state, day, device, numbers)| {
            let [pos, dur, session, watched, at, version, since, base] = numbers;
            let version = Version(version);
            let (session, device) = (SessionId(session), Arc::from(device));
            let credit = Credit { day: Day::of_number(day), since, base };
            Record { content, pos, dur, state, session, device, watched, at, version, credit }
        })
    }

    fn push() -> impl Strategy<Value = Push> {
        prop_oneof![
            record().prop_map(Push::Record),
            (prop::collection::vec(content(), 0..5), any::<u64>())
                .prop_map(|(contents, at)| Push::Deleted { contents, at }),
            any::<u64>().prop_map(|at| Push::Cleared { at }),
            any::<bool>().prop_map(|paused| Push::Recording { paused }),
            any::<u16>().prop_map(|day| Push::Flag(Day::of_number(day))),
        ]
    }

    proptest! {
        #[test]
        fn an_encoded_change_decodes_to_itself(push in push(), origin in any::<u64>(), steady in any::<bool>(), gateway in any::<u64>()) {
            let (told, gateway) = (UserChange { origin: ConnectionId(origin), push, steady }, GatewayId(gateway));
            prop_assert_eq!(decode(&encode_change(gateway, &told)), Ok((gateway, PeerMessage::UserChange(told))));
        }

        #[test]
        fn random_bytes_never_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn an_encoded_announcement_decodes_to_itself() {
        for said in [
            Announcement::Kicked(UserId(0), 0),
            Announcement::Kicked(UserId(u64::MAX), u64::MAX),
            Announcement::Erased(UserId(1)),
            Announcement::Revocations,
        ] {
            assert_eq!(decode(&encode_announcement(GATEWAY, said)), Ok((GATEWAY, PeerMessage::Announced(said))));
        }
    }

    #[test]
    fn messages_of_a_later_format_are_refused() {
        let later = SentMessage { format: FORMAT + 1, body: Some(SentBody::Kicked(1)), ..SentMessage::default() };
        assert!(decode(&later.encode_to_vec()).expect_err("another format").0.contains("format 2"));
        let unknown = SentMessage { format: FORMAT, ..SentMessage::default() };
        assert!(decode(&unknown.encode_to_vec()).is_err());
    }

    #[test]
    fn a_message_is_compact() {
        let at = 1_795_150_000_000;
        let credit = Credit { day: Day::of_number(20_778), since: at - 60_000, base: 0 };
        let record = Record {
            content: Content { kind: 1, oid: 1_000_000 },
            pos: 73_200,
            dur: 300_000,
            state: State::Playing,
            session: SessionId(u64::MAX),
            device: Arc::from("tv-3f"),
            watched: 60_000,
            at,
            version: Version::first_of(at),
            credit,
        };
        let told = UserChange { origin: ConnectionId(u64::MAX), push: Push::Record(record), steady: true };
        let bytes = encode_change(GatewayId(u64::MAX), &told).len();
        assert!(bytes <= 80, "{bytes} bytes");
    }
}
