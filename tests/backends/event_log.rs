//! The embedded event log under SIGKILL.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::storage::event_bus::config::{Backend, Config};
use heartline::storage::event_bus::{EventLog, EventTopic};
use heartline::storage_embedded::event_bus::{ClockCheck, EmbeddedLog};
use rand::RngExt;

use crate::backends::bus::publish;

const ROUNDS: usize = 6;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const DIRECTORY: &str = "HEARTLINE_TEST_EVENT_LOG";

/// Its clock is as many hours on as it was asked for the time.
fn open(data_dir: &Path, days: u64, retention_bytes: u64) -> EmbeddedLog {
    let retention = Duration::from_millis(days * DAY_MS);
    let config = Config { event_bus: Backend::Embedded, deployment: "local".into(), retention, retention_bytes };
    let hours = AtomicU64::new(0);
    let clock = move || 1_000 * DAY_MS + hours.fetch_add(1, Ordering::Relaxed) * DAY_MS / 24;
    let check =
        ClockCheck { wall_clock: Arc::new(|| u64::MAX), interval: Duration::from_secs(1), step_max: Duration::MAX };
    EmbeddedLog::open(data_dir, EventTopic::Rewards, &config, Arc::new(clock), check).unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// The user is the offset that it is to have.
fn claim(offset: u64) -> Claim {
    let day = "2026-11-20".parse().unwrap();
    Claim {
        key: ClaimKey { rule: "first-of-day".into(), day, user: UserId(offset), content: None },
        content: Content { kind: 1, oid: 100 },
        session: SessionId(7),
        device: "x".repeat(64).into(),
        watched: 5_000,
        claimed_at: 0,
        zone: "UTC".into(),
    }
}

/// What [`offsets_have_no_gaps_over_kills_while_events_come_and_go`] starts and kills: it publishes as fast as it can,
/// in a log in which segments begin and go all the time, and says how far it was answered.
#[test]
#[ignore = "runs until it is killed"]
fn child() {
    let log = open(Path::new(&std::env::var(DIRECTORY).unwrap()), 7, 1 << 20);
    loop {
        let next = *log.newest().borrow() + 1;
        let claims = (next..next + rand::rng().random_range(1..200)).map(claim);
        block_on(publish(&log, claims)).unwrap();
        println!("answered {}", log.newest().borrow().to_owned());
    }
}

#[test]
fn offsets_have_no_gaps_over_kills_while_events_come_and_go() {
    let dir = tempfile::tempdir().unwrap();
    let (mut answered, mut gone) = (0, 0);
    let enough = |answered, gone| answered > 5_000 && gone > 1_000;
    let mut round = 0;
    // On a busy machine it takes more rounds.
    while round < ROUNDS || (round < 10 * ROUNDS && !enough(answered, gone)) {
        round += 1;
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "backends::event_log::child", "--nocapture"])
            .env(DIRECTORY, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let patience = Duration::from_millis(rand::rng().random_range(100..600));
        let mut began = None;
        for line in lines {
            // The child's own test framework may write before it in the line.
            let Some((_, newest)) = line.split_once("answered ") else { continue };
            answered = newest.parse().unwrap();
            if began.get_or_insert_with(Instant::now).elapsed() > patience {
                // It may be answered more often than it was read.
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        // Nothing goes while it is looked at.
        let oldest = check(&open(dir.path(), 1_000, u64::MAX), answered);
        gone = gone.max(oldest - 1);
    }
    assert!(enough(answered, gone), "{answered} events were answered, {gone} have gone");
}

/// Returns the oldest offset.
fn check(log: &EmbeddedLog, answered: u64) -> u64 {
    let newest = *log.newest().borrow();
    assert!(newest >= answered, "{answered} were answered, {newest} are there");
    let mut after = 0;
    let mut oldest = None;
    loop {
        let page = block_on(log.read(after, 1_000)).unwrap().events;
        let Some((last, _)) = page.last() else { break };
        for ((offset, event), expected) in page.iter().zip(oldest.map_or(page[0].0, |_| after + 1)..) {
            assert_eq!(*offset, expected, "a gap");
            assert!(event.contains(&format!(r#""subject":"{offset}""#)), "{offset}: {event}");
        }
        oldest = oldest.or(Some(page[0].0));
        after = *last;
    }
    assert_eq!(after, newest);
    oldest.unwrap()
}
