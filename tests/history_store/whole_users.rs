//! Users, and all of a user.

use heartline::model::ids::UserId;
use heartline::model::pack::PackedRow;
use heartline::model::version::Version;
use heartline::storage::history_store::{HistoryStore, HistoryUser};

use crate::history_store::words::*;

pub fn an_unknown_user_has_nothing<B: Backend>() {
    let kept = Kept::new::<B>(LONG);
    assert_eq!(kept.read(), HistoryUser::default());
    kept.write(&[]);
    write(&*kept.store, Vec::new());
    assert_eq!(kept.read(), HistoryUser::default());
}

pub fn users_do_not_see_each_other<B: Backend>() {
    let store = B::open(LONG);
    let now = wall();
    let first: u64 = rand::random::<u64>() >> 1;
    // Also those whose ids differ by the sign of the same bits.
    let users = [first, first + 1, first | 1 << 63].map(UserId);
    let rows = users.map(|user| vec![PackedRow { tombstone: 1, ..played(user.0 % 1_000, now) }]);
    write(&store, users.into_iter().zip(rows.clone()).map(|(user, rows)| pack(user, None, rows)).collect());
    write(&store, vec![pack(users[1], Some(cleared(now)), Vec::new())]);
    let read = users.map(|user| wait(store.read(user, now)).unwrap().rows);
    assert_eq!(read, [rows[0].clone(), Vec::new(), rows[2].clone()]);
}

/// Several pages and batches.
pub fn a_large_user_is_written_and_read_whole<B: Backend>() {
    let kept = Kept::new::<B>(LONG);
    let now = wall();
    let row = |oid| if oid % 3 == 0 { deleted(oid, now) } else { played(oid, now) };
    let rows: Vec<PackedRow> = (1..=5_000).map(row).collect();
    let switches: Vec<(u64, bool)> = (0..128).map(|nth| (now - 200 + nth, nth % 2 == 0)).collect();
    let mut forgetting = switched(Version::first_of(now), &switches);
    forgetting.watermark = now - 1;
    kept.write_all(Some(forgetting.clone()), &rows);
    let user = kept.read();
    assert_eq!(user.forgetting, Some(forgetting));
    assert!(user.rows == rows, "{} of {} rows", user.rows.len(), rows.len());
}

pub fn many_users_are_written_at_once<B: Backend>() {
    let store = B::open(LONG);
    let now = wall();
    let users: Vec<UserId> = (0..2_000).map(|_| some_user()).collect();
    let packs = users.iter().map(|user| pack(*user, None, vec![played(user.0, now), deleted(user.0 / 2, now)]));
    write(&store, packs.collect());
    for user in &users[..100] {
        assert_eq!(wait(store.read(*user, now)).unwrap().rows.len(), 2);
    }
}
