use super::*;

/// A change that makes a beat invalid.
type Damage = fn(&mut wire::Beat);

fn given() -> wire::Beat {
    wire::Beat {
        kind: Some(1),
        oid: Some(u64::MAX),
        pos: Some(73_200),
        dur: 300_000,
        state: Some(wire::State::Playing.into()),
        session: Some(8_311_207),
        watched: Some(5_000),
        rate: None,
        at: Some(1_795_150_000_118),
        name: String::new(),
    }
}

fn of(mid: u64, beats: usize) -> wire::UserBeats {
    wire::UserBeats { mid: Some(mid), items: vec![given(); beats], ..wire::UserBeats::default() }
}

fn complaint(users: Vec<wire::UserBeats>) -> String {
    let fault = entries(users, ContentIds::Number).expect_err("a fault");
    format!("{}: {}", fault.path, fault.complaint)
}

#[test]
fn a_beat_has_the_defaults_of_a_frame() {
    let (beat, _) = super::beat(&given(), ContentIds::Number).expect("a beat");
    assert_eq!((beat.content, beat.rate, beat.state), (Content { kind: 1, oid: u64::MAX }, 1.0, State::Playing));
    let zeros = wire::Beat {
        kind: Some(0),
        oid: Some(0),
        pos: Some(0),
        state: Some(wire::State::Ended.into()),
        session: Some(0),
        rate: Some(-0.0),
        at: Some(0),
        ..wire::Beat::default()
    };
    let (beat, _) = super::beat(&zeros, ContentIds::Number).expect("zeros are values");
    let silent = wire::Beat { watched: Some(0), ..given() };
    let (silent, _) = super::beat(&silent, ContentIds::Number).expect("a beat");
    assert_eq!(silent.watched, Some(0), "not the same as none");
    assert!((beat.at, beat.session.0, beat.watched) == (0, 0, None) && beat.rate.is_sign_positive());
}

#[test]
fn what_is_required_is_missed_at_its_path() {
    let without: [(&str, Damage); 6] = [
        ("kind", |beat| beat.kind = None),
        ("oid", |beat| beat.oid = None),
        ("pos", |beat| beat.pos = None),
        ("state", |beat| beat.state = None),
        ("session", |beat| beat.session = None),
        ("at", |beat| beat.at = None),
    ];
    for (field, remove) in without {
        let mut users = vec![of(1, 2), of(2, 3)];
        remove(&mut users[1].items[2]);
        assert_eq!(complaint(users), format!("users[1].items[2].{field}: is missing"));
    }
}

#[test]
fn a_value_out_of_range_is_named() {
    let changed: [(&str, Damage); 6] = [
        ("kind: must be at most 65535", |beat| beat.kind = Some(65_536)),
        ("pos: must be at most 9007199254740991", |beat| beat.pos = Some(1 << 53)),
        ("dur: must be at most 9007199254740991", |beat| beat.dur = 1 << 53),
        ("watched: must be at most 9007199254740991", |beat| beat.watched = Some(1 << 53)),
        ("at: must be at most 9007199254740991", |beat| beat.at = Some(u64::MAX)),
        ("state: must be playing, paused, seeked or ended", |beat| beat.state = Some(0)),
    ];
    for (expected, change) in changed {
        let mut users = vec![of(1, 1)];
        change(&mut users[0].items[0]);
        assert_eq!(complaint(users), format!("users[0].items[0].{expected}"));
    }
    let mut users = vec![of(1, 1)];
    users[0].items[0].state = Some(99);
    assert!(complaint(users).starts_with("users[0].items[0].state: "));
    let mut users = vec![of(1, 1)];
    users[0].device = "d".repeat(65);
    assert_eq!(complaint(users), "users[0].device: must be at most 64 bytes long");
    let mut users = vec![of(1, 1)];
    users[0].connection = "12".to_owned();
    assert_eq!(complaint(users), "users[0].connection: must be the 16 hex digits of a welcome");
}

#[test]
fn a_user_is_a_number_or_a_name() {
    let named = |mid, sub: &str| whom(mid, sub).map_err(|fault| format!("{}: {}", fault.path, fault.complaint));
    assert_eq!(named(Some(0), ""), Ok(Whom::Mid(UserId(0))));
    assert_eq!(named(None, ""), Err("mid: is missing".to_owned()));
    assert_eq!(named(Some(1), "ann"), Err("sub: must not be given beside mid".to_owned()));
    assert_eq!(named(None, "ann"), Ok(Whom::Sub(UserName::new("ann").expect("a name"))));
    assert_eq!(named(None, "a\nb"), Err("sub: must not contain control characters".to_owned()));
}

#[test]
fn a_batch_is_bounded_in_all_and_for_each_user() {
    let full: Vec<_> = (0..10).map(|mid| of(mid, 500)).collect();
    assert_eq!(entries(full.clone(), ContentIds::Number).expect("full").len(), 10);
    assert_eq!(complaint([full, vec![of(10, 1)]].concat()), "users: must hold at most 5000 beats");
    assert_eq!(entries((0..5_000).map(|mid| of(mid, 0)).collect(), ContentIds::Number).expect("full").len(), 5_000);
    assert_eq!(complaint((0..5_001).map(|mid| of(mid, 0)).collect()), "users: must hold at most 5000");
    let of_one = entries(vec![of(1, 300), of(2, 500), of(1, 201)], ContentIds::Number).expect("bounded in all");
    let users = [1, 2, 1].map(|id| User { id: UserId(id), name: None });
    let fault = require_few_of_each(&of_one, &users).expect_err("501 of one");
    assert_eq!(Status::from(fault).message(), "users[2].items: must hold at most 500 with those before of the user");
    assert!(require_few_of_each(&of_one[..2], &users[..2]).is_ok());
}

#[test]
fn a_flag_that_is_no_date_is_none() {
    let flagged = |flag: &str| {
        let entry = wire::UserBeats { flag: flag.to_owned(), ..of(1, 0) };
        entries(vec![entry], ContentIds::Number).expect("an entry").remove(0).flag.map(|day| day.to_string())
    };
    assert_eq!(flagged("2026-11-20"), Some("2026-11-20".to_owned()));
    assert_eq!((flagged(""), flagged("tomorrow")), (None, None));
}

#[test]
fn a_content_is_named_by_oid_or_by_name() {
    let item = |oid: Option<u64>, name: &str| wire::Content { kind: Some(1), oid, name: name.to_owned() };
    let one = |oid, name, ids| {
        contents(&[item(oid, name)], 10, ids).map_err(|fault| Status::from(fault).message().to_owned())
    };
    let name = ContentName::new("the-wire").expect("a name");
    assert_eq!(one(Some(7), "", ContentIds::Number), Ok((vec![Content { kind: 1, oid: 7 }], vec![])));
    let named = (vec![Content { kind: 1, oid: name.oid() }], vec![name]);
    assert_eq!(one(None, "the-wire", ContentIds::Any), Ok(named));
    for (oid, name, ids, complaint) in [
        (None, "the-wire", ContentIds::Number, "contents are named by oid here (contents.ids)"),
        (Some(7), "the-wire", ContentIds::Number, "contents are named by oid here (contents.ids)"),
        (Some(7), "", ContentIds::Any, "must be given instead of oid (contents.ids)"),
        (Some(7), "the-wire", ContentIds::Any, "must be given instead of oid (contents.ids)"),
        (None, "", ContentIds::Any, "is missing"),
        (None, "a\n", ContentIds::Any, "must not contain control characters"),
    ] {
        assert_eq!(one(oid, name, ids), Err(format!("items[0].name: {complaint}")));
    }
    assert_eq!(one(None, "", ContentIds::Number), Err("items[0].oid: is missing".to_owned()));
}
