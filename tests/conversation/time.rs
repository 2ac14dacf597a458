//! The time of a test: it stands still, but for what the test lets pass.

use std::future::Future;
use std::time::{Duration, Instant};

use heartline::domain::time::source::TimeSource;
use tokio::runtime::Builder;
use tokio::task::coop;

/// The wall clock at the start.
pub const BEGIN: u64 = 1_795_150_000_000;

/// The clock of tokio's timers, so that the lists that wait go by the same.
#[derive(Debug)]
pub struct TestTime {
    began: Instant,
}

impl TestTime {
    pub fn begin() -> Self {
        TestTime { began: now() }
    }
}

impl TimeSource for TestTime {
    fn wall(&self) -> u64 {
        BEGIN + self.since_boot().as_millis() as u64
    }

    fn instant(&self) -> Instant {
        now()
    }

    fn since_boot(&self) -> Duration {
        now() - self.began
    }
}

pub fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

pub async fn pass(time: Duration) {
    tokio::time::advance(time).await;
}

/// Runs a test in such a time. Nothing is put off because it has done much already.
pub fn play(scene: impl Future<Output = ()>) {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(coop::unconstrained(scene));
}
