use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;

/// A user of region 19.
const MID: u64 = 42;

/// Written by the Python package protobuf 7.36.2, from the text format of [`golden`].
const GOLDEN: &str = concat!(
    "08011204336636631813229e01082a12230880df9cba9f3410071a04080510011a0908ffffffffffffff0f20d7b9cdf0de9598031a360a04",
    "08011064122508c8dc031080bab703180121a7d17e00000000002a0574762dc3bc30882738f6df9cba9f3420f0b1cdf0de9598031a160a04",
    "0800100018f7df9cba9f3420bfc1cdf0de9598031a250a0f08ffff0310ffffffffffffffffff01120d180421ffffffffffffffff38011801",
    "20cf0f2200",
);

fn golden() -> Pack {
    let record = PackedRecord {
        pos: 61_000,
        dur: 7_200_000,
        state: State::Playing,
        session: SessionId(8_311_207),
        device: "tv-ü".into(),
        watched: 5_000,
        at: 1_795_150_000_118,
    };
    let least = PackedRecord {
        pos: 0,
        dur: 0,
        state: State::Ended,
        session: SessionId(u64::MAX),
        device: "".into(),
        watched: 0,
        at: 1,
    };
    let row = |content, record, tombstone, version| PackedRow { content, record, tombstone, version: Version(version) };
    let forgetting = PackedForgetting {
        watermark: 1_795_150_000_000,
        floor: 7,
        switches: vec![Switch { at: 5, paused: true }, Switch { at: MILLIS_MAX, paused: false }],
        version: Version(1_795_150_000_118_999),
    };
    let rows = vec![
        row(Content { kind: 1, oid: 100 }, Some(record), 0, 1_795_150_000_118_000),
        row(Content::FIRST, None, 1_795_150_000_119, 1_795_150_000_119_999),
        row(Content::LAST, Some(least), 1, 1_999),
    ];
    let user = |mid, forgetting, rows| UserPack { user: UserId(mid), forgetting, rows };
    let users = vec![user(MID, Some(forgetting), rows), user(0, None, Vec::new())];
    Pack { deployment: "3f6c".into(), region: Region(19), retention: None, users }
}

fn switch() -> impl Strategy<Value = Switch> {
    (0..=MILLIS_MAX, any::<bool>()).prop_map(|(at, paused)| Switch { at, paused })
}

fn forgetting() -> impl Strategy<Value = PackedForgetting> {
    let numbers = (0..=MILLIS_MAX, 0..=MILLIS_MAX, 1..=VERSION_MAX);
    (numbers, vec(switch(), 0..=Recording::SWITCHES_MAX)).prop_map(|((watermark, floor, version), switches)| {
        PackedForgetting { watermark, floor, switches, version: Version(version) }
    })
}

fn record() -> impl Strategy<Value = PackedRecord> {
    let millis = || prop_oneof![0..100_u64, 0..=MILLIS_MAX];
    let state = (1..=4_u8).prop_map(|number| State::of_number(number).expect("a state"));
    let parts = (millis(), millis(), state, any::<u64>(), "[a-zü]{0,32}", millis(), millis());
    parts.prop_map(|(pos, dur, state, session, device, watched, at)| {
        let (session, device) = (SessionId(session), device.into());
        PackedRecord { pos, dur, state, session, device, watched, at }
    })
}

fn row() -> impl Strategy<Value = PackedRow> {
    let content = (any::<u16>(), any::<u64>()).prop_map(|(kind, oid)| Content { kind, oid });
    (content, option::of(record()), 0..=MILLIS_MAX, 1..=VERSION_MAX).prop_map(
        |(content, record, tombstone, version)| {
            let tombstone = tombstone.max(record.is_none().into());
            PackedRow { content, record, tombstone, version: Version(version) }
        },
    )
}

fn user() -> impl Strategy<Value = UserPack> {
    (any::<u64>(), option::of(forgetting()), vec(row(), 0..20)).prop_map(|(mid, forgetting, rows)| UserPack {
        user: UserId(mid),
        forgetting,
        rows,
    })
}

/// A pack of random users of a region.
fn pack() -> impl Strategy<Value = Pack> {
    let retention = option::of((1..=MILLIS_MAX).prop_map(Retention::of_ms));
    ("[0-9a-f]{1,64}", retention, vec(user(), 0..8)).prop_map(|(deployment, retention, mut users)| {
        let home = |user: &UserPack| Shards::DEFAULT.of(user.user).region();
        let region = users.first().map_or(Region(0), home);
        users.iter_mut().for_each(|user| {
            while home(user) != region {
                user.user.0 = user.user.0.wrapping_add(1);
            }
        });
        Pack { deployment: deployment.into(), region, retention, users }
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_pack_has_the_bytes_of_another_protobuf_encoder() {
    let bytes = encode(&golden());
    assert_eq!(hex(&bytes), GOLDEN);
    assert_eq!(decode(&bytes), Ok(golden()));
}

#[test]
fn fields_of_a_later_version_are_left_out() {
    let mut bytes = encode(&golden());
    // Field 15, a number.
    bytes.extend([0x78, 0x05]);
    assert_eq!(decode(&bytes), Ok(golden()));
}

proptest! {
    #[test]
    fn a_pack_is_read_as_it_is_written(pack in pack()) {
        let bytes = encode(&pack);
        let users = pack.users.iter().map(user_len).sum::<usize>();
        prop_assert_eq!(bytes.len(), head_len(&pack.deployment, pack.region, pack.retention) + users);
        prop_assert_eq!(decode(&bytes).expect("a pack"), pack);
    }

    #[test]
    fn a_user_is_cut_by_rows_and_loses_none(user in user(), bytes_max in 0..3_000_usize) {
        let parts = split(user.clone(), bytes_max);
        for (index, part) in parts.iter().enumerate() {
            let fits = user_len(part) <= bytes_max;
            let least = part.rows.len() + usize::from(part.forgetting.is_some()) <= 1;
            prop_assert!(fits || least, "part {} of {} has {} bytes", index, parts.len(), user_len(part));
            prop_assert_eq!(part.user, user.user);
            prop_assert!(index == 0 || (part.forgetting.is_none() && !part.rows.is_empty()));
        }
        // No part could have taken the first row of the next one.
        for pair in parts.windows(2) {
            let mut more = pair[0].clone();
            more.rows.push(pair[1].rows[0].clone());
            prop_assert!(user_len(&more) > bytes_max);
        }
        let rows: Vec<PackedRow> = parts.iter().flat_map(|part| part.rows.clone()).collect();
        prop_assert_eq!((&parts[0].forgetting, rows), (&user.forgetting, user.rows));
    }

    #[test]
    fn random_bytes_never_make_the_pack_decoder_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
    }
}

/// Why this is refused.
fn why(change: impl FnOnce(&mut WirePack)) -> String {
    let mut wire = WirePack::decode(encode(&golden()).as_slice()).expect("a message");
    change(&mut wire);
    decode(&wire.encode_to_vec()).expect_err("nonsense").to_string()
}

/// The same, of a change of the first user's first record.
fn why_record(change: impl FnOnce(&mut WireRecord)) -> String {
    why(|pack| change(pack.users[0].rows[0].record.as_mut().expect("a record")))
}

#[test]
fn a_pack_of_another_format_or_region_is_refused() {
    assert_eq!(why(|pack| pack.format = 2), "format is 2, not 1");
    assert_eq!(why(|pack| pack.deployment.clear()), "deployment has 0 bytes; 1 to 64");
    assert_eq!(why(|pack| pack.deployment = "x".repeat(65)), "deployment has 65 bytes; 1 to 64");
    assert_eq!(why(|pack| pack.region = 100), "region is 100; at most 99");
    assert_eq!(why(|pack| pack.region = 20), "user 42: is of region 19, not 20");
    assert!(decode(&[0xff; 3]).expect_err("no message").to_string().contains("varint"));
    let long = decode(&vec![0; MESSAGE_BYTES_MAX + 1]).expect_err("too long").to_string();
    assert_eq!(long, "is 1048577 bytes long; at most 1048576");
}

#[test]
fn a_row_that_the_hot_store_cannot_have_is_refused() {
    let row = |change: fn(&mut WireRow)| why(|pack| change(&mut pack.users[0].rows[1]));
    assert_eq!(row(|row| row.tombstone = 0), "user 42: row 2: has neither a record nor a tombstone");
    assert_eq!(row(|row| row.content = None), "user 42: row 2: content is not complete");
    let incomplete = Some(WireContent { kind: Some(1), oid: None });
    assert_eq!(why(|pack| pack.users[0].rows[1].content = incomplete), "user 42: row 2: content is not complete");
    let beyond = Some(WireContent { kind: Some(65_536), oid: Some(1) });
    let kind = why(|pack| pack.users[0].rows[1].content = beyond);
    assert_eq!(kind, "user 42: row 2: kind is 65536; at most 65535");
    let version = "user 42: row 2: version is 0; 1 to 9223372036854775807";
    assert_eq!(row(|row| row.version = 0), version);
    assert!(row(|row| row.version = 1 << 63).contains("version is 9223372036854775808"));
    assert!(row(|row| row.tombstone = 1 << 53).contains("tombstone is 9007199254740992; at most 9007199254740991"));
}

#[test]
fn a_record_that_the_hot_store_cannot_have_is_refused() {
    for state in [0, 5, -1, 256] {
        assert_eq!(why_record(|record| record.state = state), format!("user 42: row 1: state is {state}"));
    }
    let beyond = 1 << 53;
    for (name, said) in [
        ("pos", why_record(|record| record.pos = beyond)),
        ("dur", why_record(|record| record.dur = beyond)),
        ("watched", why_record(|record| record.watched = beyond)),
        ("at", why_record(|record| record.at = beyond)),
    ] {
        assert_eq!(said, format!("user 42: row 1: {name} is 9007199254740992; at most 9007199254740991"));
    }
    let device = why_record(|record| record.device = "x".repeat(65));
    assert_eq!(device, "user 42: row 1: device has 65 bytes; at most 64");
}

/// The golden pack with the first user's data for another user of the region, and a change of the first user. Its second
/// user has none.
fn of_two(change: impl FnOnce(&mut WireUser)) -> (Pack, Vec<Unsound>) {
    let mut wire = WirePack::decode(encode(&golden()).as_slice()).expect("a message");
    let other = (43..).find(|mid| Shards::DEFAULT.of(UserId(*mid)).region() == Region(19)).expect("a user");
    wire.users.push(WireUser { mid: other, ..wire.users[0].clone() });
    change(&mut wire.users[0]);
    decode_sound(&wire.encode_to_vec()).expect("a pack")
}

#[test]
fn one_bad_row_takes_neither_the_other_rows_nor_the_other_users_along() {
    let rows = golden().users[0].rows.len();
    let (pack, unsound) = of_two(|user| user.rows[0].record.as_mut().expect("a record").pos = 1 << 60);
    assert_eq!(pack.users.iter().map(|user| user.rows.len()).collect::<Vec<_>>(), [rows - 1, 0, rows]);
    assert_eq!(pack.users[0].forgetting, golden().users[0].forgetting);
    assert_eq!(unsound.len(), 1);
    assert!(unsound[0].why.starts_with("user 42: row 1: pos is 1152921504606846976"), "{}", unsound[0].why);
    let alone = WirePack::decode(unsound[0].bytes.as_slice()).expect("a pack");
    let kept = &alone.users[0];
    assert_eq!((alone.users.len(), kept.mid, kept.rows.len(), kept.forgetting.is_none()), (1, 42, 1, true));
    assert_eq!(kept.rows[0].record.as_ref().map(|record| record.pos), Some(1 << 60), "as it was");
}

#[test]
fn a_bad_forgetting_or_user_takes_no_other_user_along() {
    let (pack, unsound) = of_two(|user| user.forgetting.as_mut().expect("it has one").watermark = 1 << 53);
    assert_eq!((pack.users.len(), pack.users[0].forgetting.is_none(), unsound.len()), (3, true, 1));
    assert_eq!(pack.users[0].rows, golden().users[0].rows);
    let (pack, unsound) = of_two(|user| user.mid = 41);
    assert_eq!((pack.users.len(), unsound.len()), (2, 1));
    assert!(unsound[0].why.contains("is of region"), "{}", unsound[0].why);
}

#[test]
fn a_sender_finds_what_a_reader_would_leave_out() {
    let user = golden().users.swap_remove(0);
    assert_eq!(sound(user.clone()), (user.clone(), vec![]));
    let mut bad = user.clone();
    bad.rows[0].record.as_mut().expect("a record").device = "x".repeat(200_000).into();
    let content = bad.rows[0].content;
    let (rest, faults) = sound(bad);
    let said = format!("content {}:{}: device has 200000 bytes; at most 64", content.kind, content.oid);
    assert_eq!((rest.rows.as_slice(), faults), (&user.rows[1..], vec![said]));
}

#[test]
fn a_forgetting_that_the_hot_store_cannot_have_is_refused() {
    let of =
        |change: fn(&mut WireForgetting)| why(|pack| change(pack.users[0].forgetting.as_mut().expect("it has one")));
    let many = of(|forgetting| forgetting.switches = vec![forgetting.switches[0]; 129]);
    assert_eq!(many, "user 42: has 129 switches; at most 128");
    assert!(of(|forgetting| forgetting.version = 0).contains("version is 0"));
    assert!(of(|forgetting| forgetting.watermark = 1 << 53).contains("watermark is"));
    assert!(of(|forgetting| forgetting.floor = 1 << 53).contains("floor is"));
    assert!(of(|forgetting| forgetting.switches[0].at = 1 << 53).contains("switch is"));
}
