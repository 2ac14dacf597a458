//! How soon the live numbers show who joins and leaves among 1,000,000 sessions, and how many updates they take, beside
//! the sorted sets of Redis.
//!
//! ```sh
//! cargo bench --bench live_seen
//! LIVE_REDIS=redis://127.0.0.1:6379 cargo bench --bench live_seen   # an empty Redis, which is flushed
//! ```
//!
//! 1,000,000 sessions of 100,000 contents, whose popularity is that of Zipf. First each sends a beat every 5 s, in
//! groups of 64 as commits hand them over, and 1,000 others a second join contents of their own and leave again. The
//! time from the commit to the published count is taken with each. Then 1,000,000 beats come a second.
//!
//! With Redis, a content has a sorted set of sessions by the moment of their newest beat: `ZADD` updates it, `ZCOUNT`
//! says how many are live. The same beats go there, 64 in a pipeline; each pipeline asks for one count.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, mpsc};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use heartline::domain::commit_listener::{CommitListener, CommittedChange, CommittedGroup};
use heartline::domain::live::board::LiveBoard;
use heartline::domain::live::counting::LiveCounting;
use heartline::domain::live::inlet::LiveInlet;
use heartline::domain::time::clock::Clock;
use heartline::model::beat::{Beat, State};
use heartline::model::ids::{ConnectionId, Content, SessionId, UserId};
use heartline::model::live::Sizes;
use heartline::model::record::Record;
use heartline::model::rewards::credit::Credit;
use heartline::model::rule::Verdict;
use heartline::model::transition::{Cause, Transition};
use heartline::model::version::Version;
use heartline::model::visitor::Visitor;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

const SESSIONS: u64 = 1_000_000;
const CONTENTS: usize = 100_000;
const GROUP: u64 = 64;
const BEATS_A_SECOND: u64 = SESSIONS / 5;
/// Sessions that join; each leaves once it was seen.
const PROBES_A_SECOND: u64 = 1_000;
const WATCHED: Duration = Duration::from_secs(20);
const TIMEOUT: Duration = Duration::from_millis(12_500);
/// Beats of each session when as many come as can.
const ROUNDS: usize = 5;
/// Less than a full inlet ten times a second.
const FLOOD_A_SECOND: f64 = 1e6;
const SIZES: Sizes = Sizes { sessions: 4_000_000, top: 10_000, tail: 1_000 };

fn main() {
    let contents = contents();
    let heartline = Heartline::start();
    let before = resident();
    heartline.load(&contents);
    let bytes = resident().saturating_sub(before) / SESSIONS;
    heartline.see(&contents);
    let rate = heartline.flood(&contents) / 1e6;
    println!("heartline: {bytes} bytes a session, {rate:.2} M updates in a second of the processor");
    if let Ok(url) = env::var("LIVE_REDIS") {
        let (bytes, rate) = redis(&url, &contents);
        println!("Redis: {bytes} bytes a session, {:.2} M updates in a second of the processor", rate / 1e6);
    }
}

/// That of each session.
fn contents() -> Vec<u32> {
    let (mut sums, mut sum) = (Vec::with_capacity(CONTENTS), 0.0);
    for rank in 1..=CONTENTS {
        sum += 1.0 / rank as f64;
        sums.push(sum);
    }
    let mut state = 42;
    let drawn = std::iter::repeat_with(|| next(&mut state) as f64 / (1u64 << 31) as f64 * sum);
    drawn.map(|drawn| sums.partition_point(|sum| *sum < drawn) as u32).take(SESSIONS as usize).collect()
}

/// 31 bits in no order.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

struct Heartline {
    inlet: Arc<LiveInlet>,
    board: Arc<LiveBoard>,
    clock: Arc<Clock>,
    registry: Registry,
    /// Of the live thread.
    thread: String,
}

impl Heartline {
    fn start() -> Self {
        let clock = Arc::new(Clock::starting_at(0, Duration::from_secs(300)));
        let mut registry = Registry::default();
        let inlet = Arc::new(LiveInlet::new(clock.clone(), &mut registry));
        let board = LiveBoard::new();
        let (from, to) = (inlet.clone(), board.clone());
        let counting = LiveCounting::new(from, to, clock.clone(), TIMEOUT, SIZES, Vec::new(), &mut registry);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let (tell, told) = mpsc::sync_channel(1);
        thread::spawn(move || {
            tell.send(fs::read_link("/proc/thread-self").expect("a thread")).expect("a listener");
            runtime.block_on(counting.run());
        });
        let thread = format!("/proc/{}/schedstat", told.recv().expect("it started").display());
        Heartline { inlet, board, clock, registry, thread }
    }

    /// All sessions begin.
    fn load(&self, contents: &[u32]) {
        for group in groups(contents, self.clock.now()) {
            self.inlet.committed(&group);
            thread::sleep(Duration::from_micros(50));
        }
        wait_until(|| self.board.newest().sessions == SESSIONS);
    }

    /// Prints how long it takes until a session that joins, and one that leaves, is counted as such.
    fn see(&self, contents: &[u32]) {
        let (mut joins, mut leaves, mut views) = (Vec::new(), Vec::new(), Vec::new());
        let (mut waiting, mut unseen, mut leaving) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        let mut state = 7;
        let (began, mut beats, mut probes) = (Instant::now(), 0, 0);
        while began.elapsed() < WATCHED || !(waiting.is_empty() && unseen.is_empty() && leaving.is_empty()) {
            let due = began.elapsed().min(WATCHED).as_micros() as u64;
            let now = self.clock.now();
            while beats < due * BEATS_A_SECOND / 1_000_000 {
                let sessions = (beats..beats + GROUP).map(|number| number % SESSIONS);
                let beats_of = sessions.map(|session| (session, oid_of(contents, session), State::Playing));
                self.inlet.committed(&group(beats_of, now));
                beats += GROUP;
            }
            while probes < due * PROBES_A_SECOND / 1_000_000 {
                let probe = self.probe(SESSIONS + probes, State::Playing);
                unseen.push_back(probe);
                waiting.push_back(probe);
                probes += 1;
            }
            let published = self.board.newest().at;
            while let Some(probe) = unseen.pop_front_if(|probe| probe.at <= published) {
                views.push(micros() - probe.since);
            }
            for _ in 0..waiting.len() {
                let probe = waiting.pop_front().expect("a probe");
                let seen = u32::from(probe.state == State::Playing);
                if self.board.counts(content(probe.session)).sessions != seen {
                    waiting.push_back(probe);
                } else if probe.state == State::Playing {
                    joins.push(micros() - probe.since);
                    // Not at once: all would leave as a second begins.
                    leaving.push_back((micros() + next(&mut state) % 1_000_000, probe.session));
                } else {
                    leaves.push(micros() - probe.since);
                }
            }
            for _ in 0..leaving.len() {
                match leaving.pop_front().expect("a session") {
                    (due, session) if due <= micros() => waiting.push_back(self.probe(session, State::Ended)),
                    later => leaving.push_back(later),
                }
            }
            thread::sleep(Duration::from_millis(1));
        }
        tell("joins in the count of the content", joins);
        tell("leaves in the count of the content", leaves);
        tell("joins in the totals", views);
        self.assert_nothing_late();
    }

    fn probe(&self, session: u64, state: State) -> Probe {
        let probe = Probe { session, state, since: micros(), at: self.clock.now() };
        self.inlet.committed(&group([(session, session, state)].into_iter(), probe.at));
        probe
    }

    /// Updates for each second of the processor, in the commit and in the live thread.
    fn flood(&self, contents: &[u32]) -> f64 {
        let groups: Vec<_> = groups(contents, self.clock.now()).collect();
        let (live, mut committing, began) = (self.live_cpu(), Duration::ZERO, Instant::now());
        for (number, group) in groups.iter().cycle().take(groups.len() * ROUNDS).enumerate() {
            let due = Duration::from_secs_f64((number * GROUP as usize) as f64 / FLOOD_A_SECOND);
            thread::sleep(due.saturating_sub(began.elapsed()));
            let one = Instant::now();
            self.inlet.committed(group);
            committing += one.elapsed();
        }
        let wall = began.elapsed();
        thread::sleep(Duration::from_millis(200));
        let cpu = committing + (self.live_cpu() - live);
        self.assert_nothing_late();
        let updates = (SESSIONS as usize * ROUNDS) as f64;
        let percent = 100.0 * cpu.as_secs_f64() / wall.as_secs_f64();
        println!("{:.2} M updates/s took {percent:.0} % of a processor", updates / wall.as_secs_f64() / 1e6);
        updates / cpu.as_secs_f64()
    }

    fn live_cpu(&self) -> Duration {
        let stat = fs::read_to_string(&self.thread).expect("a live thread");
        Duration::from_nanos(stat.split(' ').next().and_then(|nanos| nanos.parse().ok()).expect("a number"))
    }

    fn assert_nothing_late(&self) {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("text");
        assert!(text.contains("live_late_total 0\n"), "changes were lost: {text}");
    }
}

/// A session that joins or leaves a content of its own.
#[derive(Clone, Copy)]
struct Probe {
    session: u64,
    state: State,
    /// When it was committed, microseconds.
    since: u64,
    /// The same, by the server's clock.
    at: u64,
}

/// One beat of each session.
fn groups(contents: &[u32], at: u64) -> impl Iterator<Item = CommittedGroup> + '_ {
    (0..SESSIONS).step_by(GROUP as usize).map(move |first| {
        let sessions = first..(first + GROUP).min(SESSIONS);
        group(sessions.map(|session| (session, oid_of(contents, session), State::Playing)), at)
    })
}

/// What a commit hands to its listeners: beats of a session, in a content.
fn group(beats: impl Iterator<Item = (u64, u64, State)>, at: u64) -> CommittedGroup {
    let mut group = CommittedGroup::default();
    for (number, (session, oid, state)) in beats.enumerate() {
        let (user, id) = (UserId(session), SessionId(session));
        let (visitor, content) = (Visitor::default(), content(oid));
        let beat = Beat { content, pos: 0, dur: 0, state, session: id, watched: Some(1), rate: 1.0, at };
        let after = Some(Record::of(&beat, "".into(), Version::NONE, Credit::default()));
        group.transitions.push((number, Transition { user, content, before: None, after, cause: Cause::Beat }));
        group.changes.push(CommittedChange {
            user,
            origin: ConnectionId(1),
            gateway: None,
            visitor,
            outcome: Verdict::written(false).into(),
            flag: None,
            here: false,
            elsewhere: false,
            transitions: number..number + 1,
        });
    }
    group
}

/// Bytes a session, and updates for each second of Redis' processor.
fn redis(url: &str, contents: &[u32]) -> (u64, f64) {
    let client = redis::Client::open(url).expect("an address");
    let mut connection = client.get_connection().expect("a Redis");
    redis::cmd("FLUSHALL").exec(&mut connection).expect("an answer");
    let before = info(&mut connection, "used_memory:");
    let mut used = 0.0;
    // The first round begins the sessions.
    for round in 0..=ROUNDS as u64 {
        let cpu = redis_cpu(&mut connection);
        for first in (0..SESSIONS).step_by(GROUP as usize) {
            let mut pipeline = redis::pipe();
            let sessions = first..(first + GROUP).min(SESSIONS);
            for session in sessions {
                pipeline.zadd(oid_of(contents, session), session, round).ignore();
            }
            pipeline.zcount(oid_of(contents, first), 0, "+inf");
            pipeline.exec(&mut connection).expect("an answer");
        }
        used += if round == 0 { 0.0 } else { redis_cpu(&mut connection) - cpu };
    }
    let bytes = (info(&mut connection, "used_memory:") - before) as u64 / SESSIONS;
    (bytes, (SESSIONS as usize * ROUNDS) as f64 / used)
}

fn redis_cpu(connection: &mut redis::Connection) -> f64 {
    info(connection, "used_cpu_user:") + info(connection, "used_cpu_sys:")
}

fn info(connection: &mut redis::Connection, name: &str) -> f64 {
    let text: String = redis::cmd("INFO").query(connection).expect("an answer");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a known name");
    line.trim().parse().expect("a number")
}

fn content(oid: u64) -> Content {
    Content { kind: 1, oid }
}

fn oid_of(contents: &[u32], session: u64) -> u64 {
    u64::from(contents[session as usize])
}

fn tell(name: &str, mut micros: Vec<u64>) {
    micros.sort_unstable();
    let at = |share: f64| micros[((micros.len() - 1) as f64 * share) as usize] as f64 / 1e6;
    let (count, p50, p99, most) = (micros.len(), at(0.5), at(0.99), at(1.0));
    println!("{count} {name}: after {p50:.3} s (p50), {p99:.3} s (p99), {most:.3} s at most");
}

fn micros() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_micros() as u64
}

fn wait_until(done: impl Fn() -> bool) {
    while !done() {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Bytes of memory in use.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}
