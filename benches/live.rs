//! What a beat costs the live thread, and what a session costs in memory, from 1,000 to 1,000,000 live sessions.
//!
//! `cargo bench --bench live`. Each size has 100 sessions for each content, up to 100,000 contents.

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::live::{LiveChange, LiveNumbers, Played, Sizes};
use heartline::model::visitor::{Browser, Country, DeviceClass, Os, Visitor};
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

const TIMEOUT_MS: u64 = 12_500;
/// One beat of each session.
const INTERVAL_MS: u64 = 5_000;
const BEATS: u64 = 4_000_000;
const SIZES: Sizes = Sizes { sessions: 4_000_000, top: 10_000, tail: 1_000 };

fn main() {
    println!(
        "{:>10} {:>12} {:>14} {:>16} {:>14}",
        "sessions", "ns a beat", "ns a session", "bytes a session", "ms a second"
    );
    for sessions in [1_000, 10_000, 100_000, 1_000_000] {
        measure(sessions);
    }
}

fn measure(sessions: u64) {
    let before = resident();
    let mut live = LiveNumbers::new(TIMEOUT_MS, SIZES);
    let start = 1_700_000_000_000;
    let began = Instant::now();
    (0..sessions).for_each(|session| live.apply(playing(session, sessions, start), start));
    let join = began.elapsed();
    let bytes = resident().saturating_sub(before) / sessions;

    // In rounds of one interval, as beats come: the clock moves on, and what is due is looked at.
    let (mut beats, mut published, mut now) = (Duration::ZERO, Duration::ZERO, start);
    let rounds = (BEATS / sessions).max(4);
    let mut seconds = 0;
    for round in 1..=rounds {
        let mut sent = 0;
        while sent < sessions {
            let upto = (sent + sessions / 5).min(sessions);
            now = start + round * INTERVAL_MS + sent * INTERVAL_MS / sessions;
            let began = Instant::now();
            live.run_out(now);
            // In no order.
            (sent..upto).for_each(|one| live.apply(playing(one * 7_919 % sessions, sessions, now), now));
            beats += began.elapsed();
            let began = Instant::now();
            live.note(now);
            black_box((live.top(), live.rising(), live.shares(), live.take_changed()));
            published += began.elapsed();
            seconds += 1;
            sent = upto;
        }
    }
    assert_eq!(live.sessions(), sessions, "at {now}");
    let a_beat = beats.as_nanos() as u64 / (rounds * sessions);
    let a_join = join.as_nanos() as u64 / sessions;
    let a_second = published.as_secs_f64() * 1_000.0 / f64::from(seconds);
    println!("{sessions:>10} {a_beat:>12} {a_join:>14} {bytes:>16} {a_second:>14.2}");
}

fn playing(session: u64, sessions: u64, at: u64) -> LiveChange {
    let contents = (sessions / 100).clamp(1, 100_000);
    let content = Content { kind: 1, oid: session % contents };
    let (user, visitor) = (UserId(session), visitor(session));
    let session = SessionId(session ^ 0x9e37_79b9_7f4a_7c15);
    LiveChange::Playing(Played { user, session, content, at, visitor })
}

fn visitor(session: u64) -> Visitor {
    let code = [b'A' + (session % 26) as u8, b'E'];
    let country = std::str::from_utf8(&code).ok().and_then(Country::of);
    let device = Some(DeviceClass::ALL[(session % 4) as usize]);
    Visitor { device, os: Os::of("Android"), browser: Browser::of("Chrome Mobile"), country }
}

/// Bytes of memory of this process.
fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").expect("a Linux process");
    pages.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number of pages") * 4096
}
