//! What a commit of the embedded store costs, of the thread that commits and of all others.
//!
//! ```sh
//! cargo bench --bench hot_store                                  # 10,000 beats/s in groups of 20, 50 and 200
//! cargo bench --bench hot_store -- --rate 30000 --group 150 --seconds 20
//! cargo bench --bench hot_store -- --rate 0                      # as fast as it goes
//! ```
//!
//! 10,000 users; nine of ten beats move their user's newest content on, the tenth begins a new one. Every group is on
//! disk before the next begins. Set TMPDIR to a directory on the disk that is meant.

#[path = "support/cpu.rs"]
mod cpu;
#[path = "support/embedded.rs"]
mod embedded;

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, thread};

use futures_util::FutureExt;
use heartline::model::beat::{Beat, State};
use heartline::model::change::{Action, Change, Outcome};
use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::rewards::rule::RuleSet;
use heartline::model::rule::Verdict;
use heartline::storage::hot_store::{Group, Positions};
use heartline::storage_embedded::hot_store::EmbeddedStore;

use cpu::Cpu;
use embedded::BEGIN;

const USERS: u64 = 10_000;

struct Options {
    /// Beats a second; 0 = as fast as it goes.
    rate: u64,
    groups: Vec<u64>,
    seconds: u64,
}

fn main() {
    let options = options();
    println!(
        "{:>6}  {:>9}  {:>30}  {:>12}  {:>17}",
        "group", "beats/s", "commit thread, µs a beat", "others, µs", "commit, µs"
    );
    for group in &options.groups {
        run(&options, *group);
    }
}

fn options() -> Options {
    let mut options = Options { rate: 10_000, groups: vec![20, 50, 200], seconds: 10 };
    let words: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    for pair in words.chunks(2) {
        let number = pair.get(1).and_then(|text| text.parse().ok());
        match (pair[0].as_str(), number) {
            ("--rate", Some(rate)) => options.rate = rate,
            ("--group", Some(1..)) => options.groups = vec![number.expect("it is there")],
            ("--seconds", Some(seconds)) => options.seconds = seconds,
            (word, _) => panic!("not understood: {word}; there are --rate N, --group N, --seconds N"),
        }
    }
    options
}

fn run(options: &Options, size: u64) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let store = embedded::open(dir.path());
    let mut players = Players::new();
    for _ in 0..2 * USERS / size {
        commit(&store, players.group(size));
    }

    let pause = if options.rate == 0 { Duration::ZERO } else { Duration::from_secs(size) / options.rate as u32 };
    let (own, all) = (Cpu::read("thread-self"), Cpu::read("self"));
    let began = Instant::now();
    let mut took = Vec::new();
    while began.elapsed() < Duration::from_secs(options.seconds) {
        let due = began + pause * took.len() as u32;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let group = players.group(size);
        let asked = Instant::now();
        commit(&store, group);
        took.push(asked.elapsed());
    }
    let seconds = began.elapsed().as_secs_f64();
    let (own, all) = (Cpu::read("thread-self").since(own), Cpu::read("self").since(all));
    let beats = (took.len() as u64 * size) as f64;
    took.sort_unstable();
    let percentile = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_micros();
    println!(
        "{size:>6}  {:>9.0}  {:>6.2} (user {:>5.2}, system {:>5.2})  {:>12.2}  p50 {:>4}, p99 {:>5}",
        beats / seconds,
        own.total() / beats,
        own.user / beats,
        own.system / beats,
        (all.total() - own.total()) / beats,
        percentile(0.5),
        percentile(0.99),
    );
}

fn commit(store: &EmbeddedStore, group: Group) {
    let outcomes = store.commit(&group).now_or_never().expect("it blocks").expect("a commit").outcomes;
    let written = |outcome: &Outcome| matches!(outcome, Outcome::Beat { verdict: Verdict::Written { .. }, .. });
    assert!(outcomes.iter().all(written), "a beat was not written");
}

struct Player {
    user: UserId,
    device: Arc<str>,
    oid: u64,
    beats: u64,
}

/// All viewers, and the position of the next one to play.
struct Players {
    all: Vec<Player>,
    next: usize,
    now: u64,
}

impl Players {
    fn new() -> Self {
        // Users that take turns in time lie apart in the tables.
        let mid = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        let player = |number| Player { user: UserId(mid(number)), device: Arc::from("tv-3f"), oid: 0, beats: number };
        Players { all: (0..USERS).map(player).collect(), next: 0, now: BEGIN }
    }

    fn group(&mut self, size: u64) -> Group {
        self.now += 1;
        Group::unrewarded(self.now, (0..size).map(|_| self.beat()).collect())
    }

    fn beat(&mut self) -> Change {
        self.next = (self.next + 1) % self.all.len();
        let player = &mut self.all[self.next];
        player.beats += 1;
        if player.beats.is_multiple_of(10) {
            player.oid = player.oid.wrapping_add(0x2545_f491_4f6c_dd1d);
        }
        let beat = Beat {
            content: Content { kind: 1, oid: player.oid },
            pos: player.beats * 5_000,
            dur: 3_600_000,
            state: State::Playing,
            session: SessionId(player.user.0 ^ player.oid),
            watched: Some(player.beats * 5_000),
            rate: 1.0,
            at: self.now,
        };
        Change { user: player.user, action: Action::beat(beat, player.device.clone(), RuleSet::NONE) }
    }
}
