//! Of each content the newest version stays, whole.

use heartline::model::beat::State;
use heartline::model::ids::{Content, SessionId};
use heartline::model::pack::{PackedRecord, PackedRow};
use heartline::model::version::Version;

use crate::history_store::words::*;

pub fn a_row_is_read_as_it_was_written<B: Backend>() {
    let kept = Kept::new::<B>(LONG);
    let now = wall();
    let largest = PackedRow {
        content: Content { kind: u16::MAX, oid: u64::MAX },
        record: Some(PackedRecord {
            pos: (1 << 53) - 1,
            dur: (1 << 53) - 1,
            state: State::Ended,
            session: SessionId(u64::MAX),
            device: "télé 📺".into(),
            watched: (1 << 53) - 1,
            at: now,
        }),
        tombstone: now - 1,
        version: Version::first_of(now).raised(998),
    };
    let smallest = PackedRow {
        content: Content { kind: 0, oid: 0 },
        record: Some(PackedRecord {
            pos: 0,
            dur: 0,
            state: State::Playing,
            session: SessionId(0),
            device: "".into(),
            watched: 0,
            at: now,
        }),
        tombstone: 0,
        version: Version::first_of(now),
    };
    let middle = PackedRow { content: Content { kind: 1, oid: 1 << 63 }, ..deleted(0, now) };
    kept.write(&[largest.clone(), middle.clone(), smallest.clone()]);
    assert_eq!(kept.rows(), [smallest, middle, largest], "by content");
    assert_eq!(kept.read().forgetting, None);
}

pub fn of_two_versions_the_newer_stays_in_any_order<B: Backend>() {
    let now = wall();
    let versions: Vec<PackedRow> = (0..3).map(|nth| played(1, now - 10 + nth)).collect();
    for order in orders(&versions) {
        let kept = Kept::new::<B>(LONG);
        order.iter().for_each(|row| kept.write(std::slice::from_ref(row)));
        assert_eq!(kept.rows(), versions[2..], "{order:?}");
    }
    let kept = Kept::new::<B>(LONG);
    kept.write(&[versions[2].clone(), versions[0].clone(), versions[1].clone()]);
    assert_eq!(kept.rows(), versions[2..], "in one pack");
}

pub fn writing_again_changes_nothing<B: Backend>() {
    let kept = Kept::new::<B>(LONG);
    let now = wall();
    let rows = [played(1, now - 5), deleted(2, now - 3), played(3, now - 100)];
    let forgetting = cleared(now - 50);
    for _ in 0..3 {
        kept.write_all(Some(forgetting.clone()), &rows);
    }
    assert_eq!((kept.rows(), kept.read().forgetting), (rows[..2].to_vec(), Some(forgetting)));
}

pub fn a_delete_keeps_an_older_record_away<B: Backend>() {
    let now = wall();
    let (record, delete) = (played(1, now - 10), deleted(1, now - 5));
    for order in orders(&[record, delete.clone()]) {
        let kept = Kept::new::<B>(LONG);
        order.iter().for_each(|row| kept.write(std::slice::from_ref(row)));
        assert_eq!(kept.rows(), std::slice::from_ref(&delete), "{order:?}");
    }
}

pub fn a_record_after_a_delete_keeps_the_tombstone<B: Backend>() {
    let now = wall();
    let after = PackedRow { tombstone: now - 5, ..played(1, now - 1) };
    for order in orders(&[played(1, now - 10), deleted(1, now - 5), after.clone()]) {
        let kept = Kept::new::<B>(LONG);
        order.iter().for_each(|row| kept.write(std::slice::from_ref(row)));
        assert_eq!(kept.rows(), std::slice::from_ref(&after), "{order:?}");
    }
}

/// Every column differs, also by being larger in the older version: nothing but the version may decide.
pub fn no_row_is_made_of_two_versions<B: Backend>() {
    let now = wall();
    let row = |version: Version, state, number: u64, device: &str| PackedRow {
        content: content(1),
        record: Some(PackedRecord {
            pos: number,
            dur: number,
            state,
            session: SessionId(number),
            device: device.into(),
            watched: number,
            at: now,
        }),
        tombstone: now - number,
        version,
    };
    let versions = [
        row(Version::first_of(now), State::Ended, 9, "z"),
        deleted(1, now - 20),
        row(Version::first_of(now).next(), State::Playing, 1, ""),
        PackedRow { version: Version::last_of(now - 1), ..deleted(1, now - 1) },
    ];
    for order in orders(&versions) {
        let kept = Kept::new::<B>(LONG);
        order.iter().for_each(|row| kept.write(std::slice::from_ref(row)));
        assert_eq!(kept.rows(), versions[2..3], "{order:?}");
    }
}

/// The one case of two rows with one version: a record that was newer than its tombstone, but not than the clear.
pub fn a_record_that_a_clear_took_stays_away<B: Backend>() {
    let now = wall();
    let with = PackedRow { tombstone: now - 20, version: Version::first_of(now - 10).next(), ..played(1, now - 10) };
    let without = PackedRow { record: None, ..with.clone() };
    for order in orders(&[with, without.clone()]) {
        let kept = Kept::new::<B>(LONG);
        order.iter().for_each(|row| kept.write(std::slice::from_ref(row)));
        assert_eq!(kept.rows(), std::slice::from_ref(&without), "{order:?}");
    }
}
