//! Clears and pauses in the history store.

use heartline::model::pack::{PackedForgetting, PackedRow};
use heartline::model::version::Version;

use crate::history_store::words::*;

pub fn a_watermark_takes_what_is_not_newer_in_any_order<B: Backend>() {
    let now = wall();
    let watermark = now - 50;
    let gone = [played(1, watermark), deleted(2, watermark), played(3, now - 1_000)];
    // Its version is below that of the clear by less than a millisecond, at most.
    let last_of_moment = PackedRow { version: Version::last_of(watermark), ..played(4, watermark) };
    let stays = [
        PackedRow { version: Version::first_of(watermark + 1), ..played(5, watermark + 1) },
        deleted(6, watermark + 1),
        PackedRow { tombstone: watermark - 7, ..played(7, now) },
    ];
    let rows = [&gone[..], &[last_of_moment], &stays].concat();
    for order in orders(&[0, 1, 2]) {
        let kept = Kept::new::<B>(LONG);
        for step in &order {
            match step {
                0 => kept.write(&rows[..5]),
                1 => kept.write(&rows[5..]),
                _ => kept.forget(&cleared(watermark)),
            }
        }
        assert_eq!(kept.rows(), stays, "{order:?}");
    }
    let kept = Kept::new::<B>(LONG);
    kept.write_all(Some(cleared(watermark)), &rows);
    assert_eq!(kept.rows(), stays, "in one pack");
}

/// Also one that comes late, and is older than what was forgotten since.
pub fn a_clear_leaves_what_was_forgotten<B: Backend>() {
    let now = wall();
    let newest = PackedForgetting {
        floor: now - 70,
        switches: switched(Version::NONE, &[(now - 9, true), (now - 8, false)]).switches,
        ..cleared(now - 40)
    };
    for order in orders(&[cleared(now - 60), newest.clone(), cleared(now - 50)]) {
        let kept = Kept::new::<B>(LONG);
        order.iter().for_each(|forgetting| kept.forget(forgetting));
        assert_eq!(kept.read().forgetting.as_ref(), Some(&newest), "{order:?}");
        kept.write(&[played(1, now - 45), played(2, now)]);
        assert_eq!(kept.rows(), [played(2, now)]);
    }
}

pub fn what_was_forgotten_is_replaced_as_a_whole<B: Backend>() {
    let now = wall();
    let first = switched(Version::first_of(now).raised(1), &[(now - 30, true), (now - 20, false), (now - 10, true)]);
    let second =
        PackedForgetting { floor: now - 100, ..switched(Version::first_of(now).raised(2), &[(now - 5, false)]) };
    let third = switched(Version::first_of(now).raised(3), &[(now - 4, true)]);
    for order in orders(&[first, second, third.clone()]) {
        let kept = Kept::new::<B>(LONG);
        order.iter().for_each(|forgetting| kept.forget(forgetting));
        assert_eq!(kept.read().forgetting.as_ref(), Some(&third), "{order:?}");
    }
}

pub fn an_erased_user_keeps_the_watermark_alone<B: Backend>() {
    let now = wall();
    let before = PackedForgetting { floor: now - 100, ..switched(Version::first_of(now), &[(now - 30, true)]) };
    let erased = PackedForgetting { version: Version::first_of(now).next(), ..cleared(now) };
    for order in orders(&[0, 1, 2]) {
        let kept = Kept::new::<B>(LONG);
        for step in &order {
            match step {
                0 => kept.write_all(Some(before.clone()), &[played(1, now - 5)]),
                1 => kept.write(&[deleted(2, now), played(3, now - 1)]),
                _ => kept.forget(&erased),
            }
        }
        let user = kept.read();
        assert_eq!((user.forgetting.as_ref(), user.rows), (Some(&erased), Vec::new()), "{order:?}");
    }
}
