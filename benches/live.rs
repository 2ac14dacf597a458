//! What a beat costs the live thread, and what a session costs in memory, from 1,000 to 1,000,000 live sessions.
//!
//! `cargo bench --bench live`. Each size has 100 sessions for each content, up to 100,000 contents. Beats come as they
//! do from clients: each session sends one every 5 s, in no order, and the live thread takes them ten times a second.

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
/// The live thread takes what has come since the last turn.
const TURN_MS: u64 = 100;
const TURNS: usize = (INTERVAL_MS / TURN_MS) as usize;
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
    let order = shuffled(sessions);
    let mut changes: Vec<LiveChange> = Vec::with_capacity(sessions as usize);
    let start = 1_700_000_000_000;
    changes.extend((0..sessions).map(|session| playing(session, sessions, start)));
    let before = resident();
    let mut live = LiveNumbers::new(TIMEOUT_MS, SIZES);
    let join = turn(&mut live, &mut changes, start);
    let bytes = resident().saturating_sub(before) / sessions;

    let (mut beats, mut published) = (Duration::ZERO, Duration::ZERO);
    let rounds = (BEATS / sessions).max(4);
    let mut seconds = 0;
    for round in 1..=rounds {
        for (index, sent) in order.chunks(order.len() / TURNS).enumerate() {
            let now = start + round * INTERVAL_MS + index as u64 * TURN_MS;
            changes.extend(sent.iter().map(|session| playing(*session, sessions, now)));
            beats += turn(&mut live, &mut changes, now);
            if now.is_multiple_of(1_000) {
                let began = Instant::now();
                live.note(now);
                black_box((live.top(), live.rising(), live.shares(), live.take_changed()));
                published += began.elapsed();
                seconds += 1;
            }
        }
    }
    assert_eq!(live.sessions(), sessions);
    let a_beat = beats.as_nanos() as u64 / (rounds * sessions);
    let a_join = join.as_nanos() as u64 / sessions;
    let a_second = published.as_secs_f64() * 1_000.0 / f64::from(seconds);
    println!("{sessions:>10} {a_beat:>12} {a_join:>14} {bytes:>16} {a_second:>14.2}");
}

/// What the live thread does with the changes of one turn. Only this is timed.
fn turn(live: &mut LiveNumbers, changes: &mut Vec<LiveChange>, now: u64) -> Duration {
    let began = Instant::now();
    live.run_out(now);
    live.apply(changes, now);
    changes.clear();
    began.elapsed()
}

/// The sessions in the order of their beats.
fn shuffled(sessions: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..sessions).collect();
    let mut state = 42u64;
    for last in (1..order.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(last, (state >> 33) as usize % (last + 1));
    }
    order
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
