//! The live thread.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::time::sleep;

use super::board::{LiveBoard, LiveView};
use super::inlet::LiveInlet;
use crate::time::clock::Clock;
use model::live::{LiveChange, LiveNumbers, Sizes};

/// Live sessions that are counted, about 110 bytes each. Beats of further ones are not counted, and a metric says so.
pub const SESSIONS_MAX: usize = 4_000_000;
/// The longest time from one emptying of the inlet to the next.
const TURN: Duration = Duration::from_millis(100);

/// Applies what comes in, and publishes once a second.
pub struct LiveCounting {
    inlet: Arc<LiveInlet>,
    board: Arc<LiveBoard>,
    clock: Arc<Clock>,
    numbers: LiveNumbers,
    /// An empty list, kept for its memory.
    spare: Vec<LiveChange>,
    /// The second that was published last.
    published: u64,
    metrics: Metrics,
}

struct Metrics {
    sessions: Gauge<u64, AtomicU64>,
    users: Gauge<u64, AtomicU64>,
    uncounted: Counter,
}

impl LiveCounting {
    /// `widget_kinds`: the kinds that the widget counts; empty = all.
    pub fn new(
        inlet: Arc<LiveInlet>,
        board: Arc<LiveBoard>,
        clock: Arc<Clock>,
        timeout: Duration,
        sizes: Sizes,
        widget_kinds: Vec<u16>,
        registry: &mut Registry,
    ) -> Self {
        let timeout = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        let mut counting = LiveCounting {
            inlet,
            board,
            clock,
            numbers: LiveNumbers::new(timeout, sizes).with_public_kinds(widget_kinds),
            spare: Vec::new(),
            published: 0,
            metrics: Metrics::new(registry),
        };
        // So that there is something to read from the start.
        counting.turn();
        counting
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        loop {
            self.turn();
            // The second is published when it begins.
            let next_second = Duration::from_millis(1_000 - self.clock.now() % 1_000);
            sleep(TURN.min(next_second)).await;
        }
    }

    fn turn(&mut self) {
        let now = self.clock.now();
        let mut changes = self.inlet.take(std::mem::take(&mut self.spare));
        self.numbers.run_out(now);
        self.numbers.apply(&changes, now);
        changes.clear();
        self.spare = changes;
        if now / 1_000 != self.published {
            self.published = now / 1_000;
            self.numbers.note(now);
            self.publish(now);
        }
    }

    fn publish(&mut self, at: u64) {
        let numbers = &mut self.numbers;
        self.metrics.observe(numbers);
        let view = LiveView {
            at,
            users: numbers.users(),
            sessions: numbers.sessions(),
            kinds: numbers.kinds(),
            top: numbers.top(),
            rising: numbers.rising(),
            widget_users: numbers.public_users(),
            widget_top: numbers.public_top(),
            shares: numbers.shares(),
            seconds: numbers.seconds(),
            minutes: numbers.minutes(),
            visits: numbers.visits(),
        };
        self.board.publish(view, numbers.take_changed());
    }
}

impl Metrics {
    fn new(registry: &mut Registry) -> Self {
        let metrics = Metrics { sessions: Gauge::default(), users: Gauge::default(), uncounted: Counter::default() };
        registry.register("live_sessions", "Live sessions, as published last", metrics.sessions.clone());
        registry.register("live_users", "Users with a live session, as published last", metrics.users.clone());
        let meaning = "Beats of sessions that are not counted because there are too many live ones";
        registry.register("live_uncounted", meaning, metrics.uncounted.clone());
        metrics
    }

    fn observe(&self, numbers: &LiveNumbers) {
        self.sessions.set(numbers.sessions());
        self.users.set(numbers.users());
        self.uncounted.inc_by(numbers.uncounted() - self.uncounted.get());
    }
}

#[cfg(test)]
#[path = "counting_tests.rs"]
mod tests;
