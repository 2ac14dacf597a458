//! How well the most watched contents are known, and what that costs: the product's ranking, and plain lossy counting.
//!
//! `cargo bench --bench live_top`. 1,000,000 sessions of 100,000 contents, whose popularity is that of Zipf (exponent
//! 1), begin. Then each of them ends and another one begins in its place, with other favorites. The truth is the number
//! of live sessions of each content. Lossy counting cannot forget, so it is asked before anything ends.
//! `LIVE_TOP_STREAM=FILE` writes the contents of the sessions in the order in which they begin, for other programs:
//! 2,000,000 `u32`, little endian, then the true counts of both moments, 100,000 each.

use std::collections::{HashMap, HashSet};
use std::env;
use std::fs;
use std::time::Instant;

use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::live::{LiveChange, LiveNumbers, Played, Sizes};
use heartline::model::visitor::Visitor;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

const SESSIONS: usize = 1_000_000;
const CONTENTS: usize = 100_000;
const FIRST: usize = 100;
const TIMEOUT_MS: u64 = 3_600_000;
const NOW: u64 = 1_700_000_000_000;
/// Contents in the table, or counters.
const TABLES: [usize; 3] = [1_000, 10_000, 100_000];

fn main() {
    let stream = stream();
    let (began, moved) = (truth(&stream[..SESSIONS]), truth(&stream[SESSIONS..]));
    if let Ok(path) = env::var("LIVE_TOP_STREAM") {
        let numbers = stream.iter().chain(&began).chain(&moved);
        fs::write(path, numbers.flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>()).expect("a file");
    }
    println!("{:<34} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}", "", "table", "recall", "off by", "missed", "stated", "ns");
    for table in TABLES {
        let mut live = Heartline::new(table);
        live.begin(&stream[..SESSIONS]);
        live.tell("heartline, all began", table, &began);
        live.note(NOW);
        live.tell("heartline, its table rebuilt", table, &began);
        live.replace(&stream);
        live.tell("heartline, all replaced", table, &moved);
        live.note(NOW + 60_000);
        live.tell("heartline, its table rebuilt", table, &moved);
        Lossy::count(table, &stream[..SESSIONS]).tell(table, &began);
    }
}

/// Contents of the sessions in the order in which they begin; the second half has other favorites.
fn stream() -> Vec<u32> {
    let mut sums = Vec::with_capacity(CONTENTS);
    let mut sum = 0.0;
    for rank in 1..=CONTENTS {
        sum += 1.0 / rank as f64;
        sums.push(sum);
    }
    let mut state = 42u64;
    let mut content = |favorite: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let drawn = (state >> 11) as f64 / (1u64 << 53) as f64 * sum;
        let rank = sums.partition_point(|sum| *sum < drawn);
        // A step that shares no factor with the number of contents: names say nothing of popularity.
        ((favorite + rank * 7_919) % CONTENTS) as u32
    };
    (0..2 * SESSIONS).map(|number| content(number / SESSIONS * (CONTENTS / 2))).collect()
}

fn truth(contents: &[u32]) -> Vec<u32> {
    let mut counts = vec![0; CONTENTS];
    contents.iter().for_each(|content| counts[*content as usize] += 1);
    counts
}

/// A ranking, with the bound that is stated for its error.
struct Answer {
    ranked: Vec<(u32, u32)>,
    stated: u32,
    /// What it took for each session.
    nanos: u64,
}

impl Answer {
    /// Tells how many of the true first ones are ranked, the greatest error of a count, and the most sessions that a
    /// content has which should be ranked and is not. Both must be within the stated error.
    fn judge(&self, name: &str, table: usize, truth: &[u32]) {
        let mut order: Vec<u32> = truth.to_vec();
        order.sort_unstable_by(|one, other| other.cmp(one));
        // Contents that are as popular as the last of them count as first, too.
        let least = order[FIRST - 1];
        let found: HashSet<u32> = self.ranked.iter().map(|(content, _)| *content).collect();
        let hits = found.iter().filter(|content| truth[**content as usize] >= least).count().min(FIRST);
        let off =
            self.ranked.iter().map(|(content, count)| count.abs_diff(truth[*content as usize])).max().unwrap_or(0);
        let above = |content: &u32| truth[*content as usize] > least && !found.contains(content);
        let missed = (0..CONTENTS as u32).filter(above).map(|content| truth[content as usize]).max().unwrap_or(0);
        let recall = hits as f64 / FIRST as f64;
        let Answer { stated, nanos, .. } = self;
        println!("{name:<34} {table:>8} {recall:>8.2} {off:>8} {missed:>8} {stated:>8} {nanos:>8}");
        assert!(off <= *stated, "a count is off by more than is said");
    }
}

struct Heartline {
    live: LiveNumbers,
    nanos: u64,
}

impl Heartline {
    fn new(top: usize) -> Self {
        let sizes = Sizes { sessions: 2 * SESSIONS, top, tail: 1_000 };
        Heartline { live: LiveNumbers::new(TIMEOUT_MS, sizes), nanos: 0 }
    }

    fn begin(&mut self, contents: &[u32]) {
        let changes: Vec<_> = contents.iter().enumerate().map(|(number, content)| playing(number, *content)).collect();
        self.apply(&changes);
    }

    /// Each session of the first half ends as one of the second begins.
    fn replace(&mut self, stream: &[u32]) {
        let both = |number: usize| [playing(SESSIONS + number, stream[SESSIONS + number]), ended(number)];
        let changes: Vec<_> = (0..SESSIONS).flat_map(both).collect();
        self.apply(&changes);
    }

    fn apply(&mut self, changes: &[LiveChange]) {
        let began = Instant::now();
        self.live.apply(changes, NOW);
        self.nanos = began.elapsed().as_nanos() as u64 / SESSIONS as u64;
    }

    /// The error is made as small as it can be once a minute.
    fn note(&mut self, now: u64) {
        self.live.note(now);
    }

    fn tell(&self, name: &str, table: usize, truth: &[u32]) {
        let ranking = self.live.top();
        let ranked: Vec<_> = ranking.ranked.iter().map(|one| (one.content.oid as u32, one.sessions)).collect();
        let answer = Answer { ranked, stated: ranking.error, nanos: self.nanos };
        assert!(answer.ranked.iter().all(|(content, count)| truth[*content as usize] == *count), "counts are exact");
        answer.judge(name, table, truth);
    }
}

fn playing(number: usize, oid: u32) -> LiveChange {
    let (user, session) = (UserId(number as u64), SessionId(number as u64));
    let content = Content { kind: 1, oid: u64::from(oid) };
    LiveChange::Playing(Played { user, session, content, at: NOW, visitor: Visitor::default() })
}

fn ended(number: usize) -> LiveChange {
    LiveChange::Ended { user: UserId(number as u64), session: SessionId(number as u64), at: NOW }
}

/// Manku and Motwani, "Approximate Frequency Counts over Data Streams" (2002). At the end of each window of so many
/// sessions, contents that were seen too rarely are dropped.
struct Lossy {
    window: usize,
    seen: usize,
    /// The count of each content, and what may be missing from it.
    counters: HashMap<u32, (u32, u32)>,
    /// Counters at a time.
    most: usize,
    nanos: u64,
}

impl Lossy {
    /// The widest window that keeps within `table` counters depends on the stream, so it is searched for.
    fn count(table: usize, contents: &[u32]) -> Self {
        let windows = (1..=100).map(|tenths| table * tenths / 10);
        let counted = windows.map(|window| Self::with_window(window, contents));
        counted.take_while(|lossy| lossy.most <= table).last().expect("a window that is narrow enough")
    }

    fn with_window(window: usize, contents: &[u32]) -> Self {
        let mut lossy = Lossy { window, seen: 0, counters: HashMap::new(), most: 0, nanos: 0 };
        let began = Instant::now();
        contents.iter().for_each(|content| lossy.begin(*content));
        lossy.nanos = began.elapsed().as_nanos() as u64 / contents.len() as u64;
        lossy
    }

    fn begin(&mut self, content: u32) {
        let ended = (self.seen / self.window) as u32;
        self.counters.entry(content).or_insert((0, ended)).0 += 1;
        self.most = self.most.max(self.counters.len());
        self.seen += 1;
        if self.seen.is_multiple_of(self.window) {
            self.counters.retain(|_, (count, missing)| *count + *missing > ended + 1);
        }
    }

    fn tell(&self, table: usize, truth: &[u32]) {
        let mut ranked: Vec<_> = self.counters.iter().map(|(content, (count, _))| (*content, *count)).collect();
        ranked.sort_unstable_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
        ranked.truncate(FIRST);
        let answer = Answer { ranked, stated: self.seen.div_ceil(self.window) as u32, nanos: self.nanos };
        answer.judge(&format!("lossy counting, {} counters", self.most), table, truth);
    }
}
