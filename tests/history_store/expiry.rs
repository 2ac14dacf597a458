//! What is a retention old goes by itself, at its own time.
//!
//! The reads that wait for it are as of the moment of the write: what they no longer find the store has removed.

use std::time::Duration;

use heartline::model::pack::PackedForgetting;
use heartline::model::retention::Retention;
use heartline::model::version::Version;
use heartline::storage::history_store::HistoryStore;

use crate::history_store::words::*;

const HOUR_MS: u64 = 3_600_000;

/// To the millisecond, unlike one of whole days.
fn an_hour() -> Retention {
    Retention::of(Duration::from_millis(HOUR_MS))
}

pub fn a_row_goes_at_its_own_time<B: Backend>() {
    let kept = Kept::new::<B>(an_hour());
    let now = wall();
    let old = now - HOUR_MS + 3_000;
    let rows = [played(1, old), deleted(2, old), played(3, now), deleted(4, now)];
    kept.write(&rows);
    assert_eq!(kept.read_at(now).rows, rows);
    until("what is an hour old goes", || kept.read_at(now).rows.len() == 2);
    assert!(wall() >= old + HOUR_MS, "not before its time");
    assert_eq!(kept.read_at(now).rows, rows[2..]);
}

pub fn a_row_that_is_written_again_goes_no_later<B: Backend>() {
    let kept = Kept::new::<B>(an_hour());
    let now = wall();
    let old = now - HOUR_MS + 5_000;
    let row = [played(1, old)];
    kept.write(&row);
    until("some time passes", || wall() >= now + 2_000);
    kept.write(&row);
    assert_eq!(kept.read_at(now).rows, row);
    until("what is an hour old goes", || kept.read_at(now).rows.is_empty());
    // A TTL counts in seconds, and is rounded up at each write.
    assert!(wall() < now + 5_000 + 20_000, "two writes do not add up");
}

pub fn what_has_expired_is_not_written<B: Backend>() {
    let kept = Kept::new::<B>(an_hour());
    let now = wall();
    let expired = now - HOUR_MS - 1;
    kept.write_all(Some(cleared(expired - 1)), &[played(1, expired), deleted(2, expired), played(3, now)]);
    // As of when they had not.
    let then = kept.read_at(now - HOUR_MS);
    assert_eq!((then.forgetting, then.rows), (None, vec![played(3, now)]));
}

pub fn what_a_longer_retention_keeps_is_written<B: Backend>() {
    let kept = Kept::new::<B>(an_hour());
    let now = wall();
    let old = now - 2 * HOUR_MS;
    let users = [pack(kept.user, Some(cleared(old - 1)), vec![played(1, old), deleted(2, old)])];
    until("a pack is written", || wait(kept.store.write(users.clone().into(), Some(LONG), now)).is_ok());
    // A shorter one than that of the store changes nothing.
    let short = Retention::of(Duration::from_secs(1));
    let users = [pack(kept.user, None, vec![played(3, now - HOUR_MS / 2)])];
    until("a pack is written", || wait(kept.store.write(users.clone().into(), Some(short), now)).is_ok());
    // As of when they had not expired here.
    let then = kept.read_at(old);
    assert_eq!(then.forgetting, Some(cleared(old - 1)));
    assert_eq!(then.rows, [played(1, old), deleted(2, old), played(3, now - HOUR_MS / 2)]);
}

pub fn a_read_leaves_out_what_has_expired_by_then<B: Backend>() {
    let kept = Kept::new::<B>(LONG);
    let now = wall();
    let rows = [played(1, now - DAY_MS), deleted(2, now - DAY_MS), played(3, now)];
    kept.write_all(Some(cleared(now - 2 * DAY_MS)), &rows);
    // Days of UTC, today included: after this midnight that day is out.
    let midnight = (now / DAY_MS + 89) * DAY_MS;
    assert_eq!(kept.read_at(midnight - 1).rows, rows);
    assert_eq!(kept.read_at(midnight).rows, rows[2..]);
    assert_eq!(kept.read_at(midnight - DAY_MS).forgetting, None);
}

pub fn what_was_forgotten_goes_a_retention_later<B: Backend>() {
    let kept = Kept::new::<B>(an_hour());
    let now = wall();
    let old = now - HOUR_MS + 3_000;
    let forgetting = PackedForgetting {
        floor: old,
        ..switched(Version::first_of(now), &[(old - 2, false), (old - 1, true), (old, false)])
    };
    kept.forget(&forgetting);
    assert!(kept.read_at(now).forgetting.is_some());
    until("what was forgotten goes", || kept.read_at(now).forgetting.is_none());
    assert!(wall() >= old + HOUR_MS, "not before its time");
}

pub fn a_pause_that_goes_on_stays<B: Backend>() {
    let kept = Kept::new::<B>(an_hour());
    let now = wall();
    let old = now - 10 * HOUR_MS;
    let pause = switched(Version::first_of(now), &[(old, true)]);
    kept.write_all(Some(pause.clone()), &[played(1, now - HOUR_MS + 2_000)]);
    until("something else goes", || kept.read_at(now).rows.is_empty());
    assert_eq!(kept.read().forgetting, Some(pause));
}

/// The resume has expired when it is written, in any order.
pub fn a_pause_that_has_ended_goes_although_it_was_for_ever<B: Backend>() {
    let now = wall();
    let old = now - 10 * HOUR_MS;
    let pause = switched(Version::first_of(now), &[(old, true)]);
    let resume = switched(Version::first_of(now).raised(1), &[(old, true), (old + 1, false)]);
    for order in orders(&[pause, resume]) {
        let kept = Kept::new::<B>(an_hour());
        order.iter().for_each(|forgetting| kept.forget(forgetting));
        assert_eq!(kept.read_at(old).forgetting, None, "{order:?}");
    }
}
