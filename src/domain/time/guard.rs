//! Whether the server clock can be trusted.
//!
//! Several gateways on one store judge beats by clocks of their own. Each compares its clock with that of the store. A
//! gateway that is too far off serves no client until it is back, since it would accept or refuse other beats than the
//! other gateways. A clock that is ahead does not come back when the wall clock is corrected, as it never goes back. It
//! falls back if it was ahead from the start, and nothing was judged by it; otherwise the process has to end
//! ([`ClockStatus::lost`]), and the next one starts with the right clock.
//!
//! A large step of the wall clock is not believed ([`Clock`]). Until the wall clock steps back, or the clock of the
//! store confirms it, the gateway is not ready and commits nothing; its sockets stay. A store without a clock confirms
//! nothing: then an operator sets the clock right, or says that it is ([`ClockStatus::accept`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::clock::{self, Clock, Step};
use storage::hot_store::Answer;

const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// The longest wait for the time of the store; without an answer the last measurement stays.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The greatest distance of the two clocks.
const APART_MS_MAX: u64 = 1_000;
/// The distance at which a clock that was off is trusted again. It is smaller, so that connections are not closed again
/// and again around the bound.
const BACK_MS_MAX: u64 = 500;

/// How far a clock falls back. The day of the rewards does not, and began early by so much; one that is further ahead is
/// lost.
const FALL_BACK_MS_MAX: i64 = 60_000;

/// How far the server clock may be ahead of a wall clock that is accepted: as far as the newest commit at a start.
const AHEAD_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How far the server's clock is ahead of the store's, or behind if negative: milliseconds.
pub type Apart = i64;

/// The state of the clock, for other parts.
#[derive(Clone, Debug)]
pub struct ClockStatus {
    measured: watch::Receiver<Measured>,
    clock: Arc<Clock>,
}

/// The readings of the clocks, milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    pub wall: u64,
    pub server: u64,
    /// The step of the wall clock that is in doubt.
    pub step: Option<Step>,
    /// How far the server's clock is ahead of the store's, as last measured; `None` = the store has not told its time.
    pub apart: Option<Apart>,
    /// They are too far apart: no client is served.
    pub is_off: bool,
}

/// The server clock is too far ahead of the wall clock, by this time.
#[derive(Debug)]
pub struct TooFarAhead(pub Duration);

/// The result of the last look.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    /// As it was told last.
    distance: Option<Apart>,
    /// `None` while the two are near enough.
    apart: Option<Apart>,
    /// The wall clock was corrected, and the server's clock stays ahead.
    is_lost: bool,
    /// The store did not tell its time.
    silent: bool,
}

impl ClockStatus {
    /// For a store without a clock: the server clock counts as right.
    pub fn alone() -> Self {
        let clock = Arc::new(Clock::starting_at(0, Duration::MAX));
        ClockStatus { measured: watch::channel(Measured::default()).1, clock }
    }

    /// The present trouble of the clock; `None` = none. Takes a lock for a moment: ask once per connection or request.
    pub fn trouble(&self) -> Option<String> {
        // A step is noticed by the first who reads the clock.
        self.clock.now();
        if let Some(step) = self.clock.doubt() {
            return Some(format!("the wall clock stepped {}", in_words(step)));
        }
        let apart = self.measured.borrow().apart?;
        let side = if apart > 0 { "ahead of" } else { "behind" };
        Some(format!("the clock is {} ms {side} the store's", apart.unsigned_abs()))
    }

    pub fn clocks(&self) -> Clocks {
        let Measured { distance, apart, .. } = *self.measured.borrow();
        let is_off = apart.is_some();
        Clocks { server: self.clock.now(), wall: self.clock.wall(), step: self.clock.doubt(), apart: distance, is_off }
    }

    /// Believes the wall clock on the word of an operator. Returns the believed step; `None` = no step was in doubt.
    /// The server clock follows a step forward and never goes back. It is an error if it would be ahead of the wall
    /// clock by more than a start allows: beats would be judged by a wrong time from then on.
    pub fn accept(&self) -> Result<Option<Step>, TooFarAhead> {
        let Clocks { wall, server, step, .. } = self.clocks();
        let ahead = Duration::from_millis(server.saturating_sub(wall));
        match step {
            None => Ok(None),
            Some(_) if ahead > AHEAD_MAX => Err(TooFarAhead(Duration::from_secs(ahead.as_secs()))),
            Some(step) => {
                self.clock.believe();
                Ok(Some(step))
            }
        }
    }

    pub fn is_off(&self) -> bool {
        self.measured.borrow().apart.is_some()
    }

    /// Whether the store did not answer the last question for its time: it is away, even if no commit has failed.
    pub fn is_store_silent(&self) -> bool {
        self.measured.borrow().silent
    }

    /// Resolves when the clock stays ahead of the store's for as long as this process runs, to how far it is ahead.
    pub async fn lost(mut self) -> Apart {
        let lost = self.measured.wait_for(|measured| measured.is_lost).await.map(|measured| measured.distance);
        match lost {
            Ok(distance) => distance.unwrap_or_default(),
            // It is not measured any more.
            Err(_) => std::future::pending().await,
        }
    }

    /// Resolves once `is_off` differs from `off`. Cheap to wait on. Never resolves if the clock is not measured.
    pub async fn changed(&mut self, off: bool) {
        if self.measured.wait_for(|measured| measured.apart.is_some() != off).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Looks at the wall clock, and measures the server's clock against the store's, every second.
pub struct ClockGuard {
    store_time: Box<dyn Fn() -> Answer<Option<u64>> + Send + Sync>,
    clock: Arc<Clock>,
    measured: watch::Sender<Measured>,
    apart_seconds: Gauge<f64, AtomicU64>,
    steps: Counter,
    /// Whether the current step was logged.
    step_logged: AtomicBool,
    /// The clock was near the store's once, or the store did not say: clients may have been served by it.
    was_trusted: AtomicBool,
    /// The store's clock minus monotonic time, milliseconds, when the clock was last beyond doubt.
    store_offset: AtomicI64,
}

impl ClockGuard {
    /// `store_time`: [`StoreClock::time`](storage::hot_store::StoreClock::time) of the store.
    pub fn new(
        store_time: impl Fn() -> Answer<Option<u64>> + Send + Sync + 'static,
        clock: Arc<Clock>,
        registry: &mut Registry,
    ) -> Self {
        let apart_seconds = Gauge::default();
        let what = "How far the server's clock is ahead of the store's; negative: behind";
        registry.register("store_clock_offset_seconds", what, apart_seconds.clone());
        let steps = Counter::default();
        let what = "Steps of the wall clock that were too large to be believed (store.clock_step_max)";
        registry.register("clock_steps", what, steps.clone());
        registry.register_collector(Box::new(StepInDoubt(clock.clone())));
        let (store_time, measured) = (Box::new(store_time), watch::Sender::default());
        ClockGuard {
            store_time,
            clock,
            measured,
            apart_seconds,
            steps,
            step_logged: AtomicBool::new(false),
            was_trusted: AtomicBool::new(false),
            store_offset: AtomicI64::new(0),
        }
    }

    pub fn clock_status(&self) -> ClockStatus {
        ClockStatus { measured: self.measured.subscribe(), clock: self.clock.clone() }
    }

    /// Measures for as long as it is polled.
    pub async fn run(self) {
        loop {
            self.look().await;
            sleep(LOOK_INTERVAL).await;
        }
    }

    /// Measures once. Call it before any client is served.
    pub async fn look(&self) {
        self.look_at_wall();
        let (before, wall_before) = (self.clock.now(), self.clock.wall());
        match timeout(ANSWER_TIMEOUT, (self.store_time)()).await {
            Ok(Ok(Some(told))) => {
                let wall_apart = distance(wall_before, told, self.clock.wall());
                let is_steady = self.is_steady(told);
                if is_steady && self.clock.doubt().is_some() && wall_apart.unsigned_abs() <= APART_MS_MAX {
                    self.clock.believe();
                    self.look_at_wall();
                }
                let apart = distance(before, told, self.clock.now());
                self.judge(self.corrected(apart, wall_apart));
            }
            Ok(Ok(None)) => {}
            // The committer says so.
            Ok(Err(_)) | Err(_) => self.measured.send_modify(|measured| measured.silent = true),
        }
        if self.measured.borrow().apart.is_none() {
            self.was_trusted.store(true, Ordering::Relaxed);
        }
    }

    /// The distance after the clock has fallen back, if it may. It is lost if it has to and may not.
    fn corrected(&self, apart: Apart, wall_apart: Apart) -> Apart {
        if apart <= APART_MS_MAX as Apart || wall_apart.unsigned_abs() > BACK_MS_MAX || self.clock.doubt().is_some() {
            return apart;
        }
        let may_fall_back = apart <= FALL_BACK_MS_MAX && !self.was_trusted.load(Ordering::Relaxed);
        if may_fall_back && self.clock.fall_back() {
            tracing::warn!(
                event = "clock_fell_back",
                by_ms = apart,
                "the clock was ahead of the store's from the start, and the wall clock is right now: going by it"
            );
            return wall_apart;
        }
        self.measured.send_if_modified(|measured| !std::mem::replace(&mut measured.is_lost, true));
        apart
    }

    /// Whether the store's clock has moved as monotonic time has since the clock was last beyond doubt. One on this
    /// very machine makes the same step as the wall clock, and cannot confirm it.
    fn is_steady(&self, told: u64) -> bool {
        let offset = offset_of(told);
        let trusted = self.store_offset.load(Ordering::Relaxed);
        if self.clock.doubt().is_none() {
            self.store_offset.store(offset, Ordering::Relaxed);
        }
        offset.abs_diff(trusted) <= APART_MS_MAX
    }

    /// Checks the wall clock. A step that was over before this look is logged and counted, too.
    fn look_at_wall(&self) {
        let noticed = self.clock.doubt();
        let lasting = self.clock.look();
        if let Some(step) = noticed.or(lasting)
            && !self.step_logged.swap(true, Ordering::Relaxed)
        {
            self.steps.inc();
            tracing::error!(
                event = "clock_step",
                step_ms = step,
                "the wall clock stepped {}; not ready, acks suspended until it is back. If the wall clock is right now: \
                 heartline clock --accept",
                in_words(step)
            );
        }
        if lasting.is_none() && self.step_logged.swap(false, Ordering::Relaxed) {
            tracing::info!(event = "clock_step_over", "the wall clock is believed again; acks resumed");
        }
    }

    fn judge(&self, apart: Apart) {
        self.apart_seconds.set(apart as f64 / 1000.0);
        let Measured { apart: before, is_lost, .. } = *self.measured.borrow();
        let was_off = before.is_some();
        let off = apart.unsigned_abs() > if was_off { BACK_MS_MAX } else { APART_MS_MAX };
        match (was_off, off) {
            (false, true) => tracing::error!(
                event = "clock_apart",
                apart_ms = apart,
                "the clock is not that of the store: connections are sent away, and no client is served until it is back; \
                 set the clocks of both machines right"
            ),
            (true, false) => {
                tracing::info!(event = "clock_apart_over", apart_ms = apart, "the clock is that of the store again")
            }
            _ => {}
        }
        let measured = Measured { distance: Some(apart), apart: off.then_some(apart), is_lost, silent: false };
        self.measured.send_replace(measured);
    }
}

/// Exports the step of the wall clock that is in doubt, as it is at the scrape: a look may wait for the store.
#[derive(Debug)]
struct StepInDoubt(Arc<Clock>);

impl StepInDoubt {
    /// 0 = none.
    fn seconds(&self) -> f64 {
        // A step is noticed by the first who reads the clock.
        self.0.now();
        self.0.doubt().unwrap_or(0) as f64 / 1000.0
    }
}

impl Collector for StepInDoubt {
    fn encode(&self, mut encoder: DescriptorEncoder) -> std::fmt::Result {
        let gauge = ConstGauge::new(self.seconds());
        let help = "The step of the wall clock that is in doubt, negative if back; 0: none, the wall clock is trusted";
        gauge.encode(encoder.encode_descriptor("clock_step_seconds", help, None, gauge.metric_type())?)
    }
}

fn in_words(step: Step) -> String {
    let side = if step > 0 { "forward" } else { "back" };
    let by = Duration::from_secs(step.unsigned_abs() / 1_000);
    format!("{side} by {}", humantime::format_duration(by))
}

/// The least distance of two clocks, if the other clock was read at some moment between these two readings of ours: so
/// the time of the round trip does not count as distance.
fn distance(before: u64, told: u64, after: u64) -> Apart {
    let ms = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    match told {
        told if told < before => ms(before - told),
        told if told > after => -ms(told - after),
        _ => 0,
    }
}

/// The reading of a clock minus monotonic time, milliseconds.
fn offset_of(told: u64) -> i64 {
    let since_boot = clock::since_boot().as_millis() as u64;
    i64::try_from(told).unwrap_or(i64::MAX).saturating_sub_unsigned(since_boot)
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
