//! All threads see one day.

use std::thread;

use super::*;

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;
/// Midnight of 2026-11-20.
const MIDNIGHT: u64 = 20_777 * DAY;

fn today() -> Today {
    Today::open("UTC", Arc::new(Rules::default()), None, MIDNIGHT + HOUR).unwrap()
}

#[test]
fn a_day_lasts_to_the_last_millisecond_and_does_not_come_back() {
    let today = today();
    assert_eq!(today.day(MIDNIGHT + DAY - 1).to_string(), "2026-11-20");
    assert_eq!(today.day(MIDNIGHT + DAY).to_string(), "2026-11-21");
    assert_eq!(today.day(MIDNIGHT).to_string(), "2026-11-21");
    assert_eq!(today.reward_day(MIDNIGHT).day.to_string(), "2026-11-21");
}

#[test]
fn reads_with_and_without_the_lock_agree() {
    let today = today();
    for hours in (0..24 * 400).step_by(5) {
        let now = MIDNIGHT + hours * HOUR;
        assert_eq!(today.day(now), Day::of_number((now / DAY) as u16));
        assert_eq!(today.day(now), today.reward_day(now).day);
    }
}

/// The lock is held meanwhile: a caller that needed it would wait for ever.
#[test]
fn readers_take_no_lock_within_a_day() {
    let today = today();
    let _held = today.clock();
    assert_eq!(today.day(MIDNIGHT + 2 * HOUR).to_string(), "2026-11-20");
    assert_eq!(today.day(0).to_string(), "2026-11-20");
}

#[test]
fn the_day_can_be_put_ahead_and_goes_on_from_there() {
    let today = today();
    assert_eq!(today.day_and_end(MIDNIGHT + HOUR).1, MIDNIGHT + DAY);
    today.forward(Duration::from_secs(23 * 3600 - 1));
    assert_eq!(today.day_and_end(MIDNIGHT + HOUR).1, MIDNIGHT + HOUR + 1000);
    assert_eq!(today.day(MIDNIGHT + HOUR).to_string(), "2026-11-20");
    assert_eq!(today.day(MIDNIGHT + HOUR + 999).to_string(), "2026-11-20");
    assert_eq!(today.day(MIDNIGHT + HOUR + 1000).to_string(), "2026-11-21");
    today.forward(Duration::from_secs(48 * 3600));
    assert_eq!(today.day(MIDNIGHT + HOUR).to_string(), "2026-11-22");
    today.forward(Duration::MAX);
    assert_eq!(today.day(MIDNIGHT + HOUR).to_string(), "2149-06-06", "the last day");
    assert_eq!(today.day(u64::MAX).to_string(), "2149-06-06");
}

#[test]
fn no_thread_sees_a_day_go_back() {
    let today = today();
    thread::scope(|scope| {
        for thread in 0..4 {
            let today = &today;
            scope.spawn(move || {
                let mut last = Day::default();
                for step in 0..20_000 {
                    // Each thread has a clock of its own, at times before the others, at times behind them.
                    let now = MIDNIGHT + step * HOUR / 20 + (step * 7919 * (thread + 1)) % (36 * HOUR);
                    let day = today.day(now);
                    assert!(day >= last && day >= Day::of_number((now / DAY) as u16), "{day} after {last}");
                    last = day;
                }
            });
        }
    });
}

#[test]
fn an_unknown_zone_is_refused_by_its_name() {
    let refused = Today::open("Mars/Olympus", Arc::new(Rules::default()), None, 0).unwrap_err();
    assert!(refused.to_string().contains("\"Mars/Olympus\""), "{refused}");
}
