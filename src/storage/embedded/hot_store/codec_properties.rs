//! Stored bytes are read back as the same values.

use std::sync::Arc;

use proptest::option;
use proptest::prelude::*;

use super::codec::*;
use model::beat::State;
use model::forgetting::{ContentRow, Tombstone, UserRow};
use model::ids::{Content, SessionId, UserId};
use model::record::Record;
use model::recording::{Recording, Switch};
use model::rewards::credit::Credit;
use model::rewards::day::Day;
use model::version::Version;

const CONTENT: Content = Content { kind: 7, oid: 1 << 60 };

fn record() -> impl Strategy<Value = Record> {
    let state = prop_oneof![Just(State::Playing), Just(State::Paused), Just(State::Seeked), Just(State::Ended)];
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>());
    let credit = (any::<u16>(), any::<u64>(), any::<u64>());
    let credit = credit.prop_map(|(day, since, base)| Credit { day: Day::of_number(day), since, base });
    (state, numbers, ".{0,20}", credit).prop_map(
        |(state, (pos, dur, session, watched, at, version), device, credit)| Record {
            content: CONTENT,
            pos,
            dur,
            state,
            session: SessionId(session),
            device: Arc::from(device),
            watched,
            at,
            version: Version(version),
            credit,
        },
    )
}

fn tombstone() -> impl Strategy<Value = Tombstone> {
    (any::<u64>(), any::<u64>()).prop_map(|(at, version)| Tombstone { at, version: Version(version) })
}

proptest! {
    #[test]
    fn a_content_is_read_as_it_was_written(rows in prop::collection::vec((option::of(record()), option::of(tombstone())), 1..4)) {
        // One writer for all rows: no part of one row may remain in the next.
        let mut writer = RowWriter::default();
        for (record, tombstone) in rows {
            let row = ContentRow { record, tombstone };
            prop_assert_eq!(parse_content(CONTENT, &writer.content(&row)).unwrap(), row);
        }
    }

    #[test]
    fn a_user_is_read_as_it_was_written(
        [watermark, floor, frozen, erased] in any::<[u64; 4]>(), switches in prop::collection::vec((0..u64::MAX >> 1, any::<bool>()), 0..9)
    ) {
        let switches = switches.into_iter().map(|(at, paused)| Switch { at, paused }).collect();
        let row = UserRow { watermark, floor, erased, recording: Recording::from_parts(switches, frozen) };
        prop_assert_eq!(parse_user(&RowWriter::default().user(&row)).unwrap(), row);
    }

    #[test]
    fn keys_sort_as_users_and_contents(a: (u64, u16, u64), b: (u64, u16, u64)) {
        let place = |(user, kind, oid)| (UserId(user), Content { kind, oid });
        let key = |(user, content)| content_key(user, content);
        prop_assert_eq!(parse_content_key(&key(place(a))).unwrap(), place(a));
        prop_assert_eq!(key(place(a)).cmp(&key(place(b))), place(a).cmp(&place(b)));
    }
}

#[test]
fn a_typical_row_stays_within_its_size_bound() {
    let record = Record {
        content: CONTENT,
        pos: 73_200,
        dur: 300_000,
        state: State::Playing,
        session: SessionId(u64::MAX),
        device: Arc::from("tv-3f"),
        watched: 5_000,
        at: 1_795_150_000_118,
        version: Version(1_795_150_000_118_000),
        credit: Credit { day: Day::of_number(20_777), since: 1_795_149_900_118, base: 0 },
    };
    let bytes = RowWriter::default().content(&ContentRow { record: Some(record), tombstone: None });
    assert!(bytes.len() <= 49, "{} bytes", bytes.len());
}

#[test]
fn malformed_bytes_are_an_error() {
    assert!(parse_content(CONTENT, &[8, 9]).is_err(), "an unknown state");
    assert!(parse_content(CONTENT, &[0xff]).is_err());
    assert!(parse_user(&[0xff]).is_err());
    assert!(parse_content_key(&[0; 17]).is_err());
}
