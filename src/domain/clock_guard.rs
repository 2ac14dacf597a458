//! Whether the server's clock can be trusted.
//!
//! Several gateways on one store judge beats by clocks of their own. The store's clock is the measure: a gateway that is
//! too far from it serves no client until it is back, since what it would accept or refuse the others would not.
//!
//! A large step of the wall clock is not believed ([`Clock`]). Until the wall clock steps back, or the clock of the store
//! confirms it, the gateway is not ready and commits nothing; its sockets stay. A store without a clock confirms nothing:
//! then an operator sets the clock right, or says that it is ([`ClockStatus::accept`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::clock::{self, Clock, Step};
use crate::storage::hot_store::Answer;

const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// A store that does not tell its time is not waited for any longer; what was known before stays.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// So far apart the two may be.
const APART_MS_MAX: u64 = 1_000;
/// So near they must come to each other again, so that nobody is sent away at every measure.
const BACK_MS_MAX: u64 = 500;

/// How far the server's clock may be ahead of a wall clock that is accepted: as far as the newest commit at a start.
const AHEAD_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How far the server's clock is ahead of the store's, or behind if negative: milliseconds.
type Apart = i64;

/// What a part is handed to learn of it.
#[derive(Clone, Debug)]
pub struct ClockStatus {
    measured: watch::Receiver<Measured>,
    clock: Arc<Clock>,
}

/// How the clocks stand, milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    pub wall: u64,
    pub server: u64,
    /// Of the wall clock, in doubt.
    pub step: Option<Step>,
}

/// The server's clock is so far ahead of the wall clock.
#[derive(Debug)]
pub struct TooFarAhead(pub Duration);

/// What the last look has shown.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    /// `None` while the two are near enough.
    apart: Option<Apart>,
    /// The store did not tell its time.
    silent: bool,
}

impl ClockStatus {
    /// For a store that has no clock: the server's is right.
    pub fn alone() -> Self {
        let clock = Arc::new(Clock::starting_at(0, Duration::MAX));
        ClockStatus { measured: watch::channel(Measured::default()).1, clock }
    }

    /// What is wrong; `None` = nothing. Takes a lock for a moment: ask once per connection or request.
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
        Clocks { server: self.clock.now(), wall: clock::wall(), step: self.clock.doubt() }
    }

    /// An operator says that the wall clock is right: its step is believed from now on, and returned; `None` = no step was
    /// in doubt. The server's clock follows it forward, and never goes back: ahead by more than a start allows, it would
    /// judge beats by a wrong time for good.
    pub fn accept(&self) -> Result<Option<Step>, TooFarAhead> {
        let Clocks { wall, server, step } = self.clocks();
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

    /// Whether the store has not told its time when it was last asked: it is away, be there commits or none.
    pub fn is_store_silent(&self) -> bool {
        self.measured.borrow().silent
    }

    /// Resolves when it is no longer, or not yet, as `off` says. Cheap to wait on; never if nobody measures.
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
    /// A step that is not over was logged.
    step_logged: AtomicBool,
    /// The store's clock minus monotonic time, milliseconds, when the clock was last beyond doubt.
    store_offset: AtomicI64,
}

impl ClockGuard {
    /// `store_time`: [`HotStore::time`](crate::storage::hot_store::HotStore::time) of the store.
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
        let (store_time, measured) = (Box::new(store_time), watch::Sender::default());
        ClockGuard {
            store_time,
            clock,
            measured,
            apart_seconds,
            steps,
            step_logged: AtomicBool::new(false),
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
        let (before, wall_before) = (self.clock.now(), clock::wall());
        match timeout(ANSWER_TIMEOUT, (self.store_time)()).await {
            Ok(Ok(Some(told))) => {
                let wall_apart = distance(wall_before, told, clock::wall());
                let is_steady = self.is_steady(told);
                if is_steady && self.clock.doubt().is_some() && wall_apart.unsigned_abs() <= APART_MS_MAX {
                    self.clock.believe();
                    self.look_at_wall();
                }
                self.judge(distance(before, told, self.clock.now()));
            }
            Ok(Ok(None)) => {}
            // The committer says so.
            Ok(Err(_)) | Err(_) => self.measured.send_modify(|measured| measured.silent = true),
        }
    }

    /// Whether the store's clock has moved as monotonic time has since the clock was last beyond doubt. One on this very
    /// machine makes the same step as the wall clock, and cannot confirm it.
    fn is_steady(&self, told: u64) -> bool {
        let offset = offset_of(told);
        let trusted = self.store_offset.load(Ordering::Relaxed);
        if self.clock.doubt().is_none() {
            self.store_offset.store(offset, Ordering::Relaxed);
        }
        offset.abs_diff(trusted) <= APART_MS_MAX
    }

    /// A step that was over before this look is logged and counted, too.
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
        let was_off = self.measured.borrow().apart.is_some();
        let off = apart.unsigned_abs() > if was_off { BACK_MS_MAX } else { APART_MS_MAX };
        match (was_off, off) {
            (false, true) => tracing::error!(
                apart_ms = apart,
                "the clock is not that of the store: connections are sent away, and nobody is served until it is back; set \
                 the clocks of both machines right, and start again if this one was ahead"
            ),
            (true, false) => tracing::info!(apart_ms = apart, "the clock is that of the store again"),
            _ => {}
        }
        self.measured.send_replace(Measured { apart: off.then_some(apart), silent: false });
    }
}

fn in_words(step: Step) -> String {
    let side = if step > 0 { "forward" } else { "back" };
    let by = Duration::from_secs(step.unsigned_abs() / 1_000);
    format!("{side} by {}", humantime::format_duration(by))
}

/// How far two clocks are apart at least, when the other one told its time at some moment between these two of ours: so
/// that no wait, on either side, looks like a distance.
fn distance(before: u64, told: u64, after: u64) -> Apart {
    let ms = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    match told {
        told if told < before => ms(before - told),
        told if told > after => -ms(told - after),
        _ => 0,
    }
}

/// A clock that shows this, minus monotonic time, milliseconds.
fn offset_of(told: u64) -> i64 {
    let since_boot = clock::since_boot().as_millis() as u64;
    i64::try_from(told).unwrap_or(i64::MAX).saturating_sub_unsigned(since_boot)
}

#[cfg(test)]
pub mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::storage::hot_store::StoreError;

    const STEP_MAX: Duration = Duration::from_secs(300);

    /// A store whose clock is so far ahead of this machine's; `None` = it is away.
    #[derive(Clone, Default)]
    struct Store {
        ahead: Arc<Mutex<Option<i64>>>,
    }

    impl Store {
        fn set(&self, ahead: Option<i64>) {
            *self.ahead.lock().unwrap() = ahead;
        }

        fn clock_guard(&self) -> ClockGuard {
            let ahead = self.ahead.clone();
            let tell = move || -> Answer<Option<u64>> {
                let ahead = *ahead.lock().unwrap();
                Box::pin(async move {
                    let ahead = ahead.ok_or_else(|| StoreError::Away("a test".to_owned()))?;
                    Ok(Some(clock::wall().saturating_add_signed(ahead)))
                })
            };
            ClockGuard::new(tell, Arc::new(Clock::starting_at(0, STEP_MAX)), &mut Registry::default())
        }
    }

    /// What was measured against a store whose clock is so far ahead of this machine's; `None` = it is away.
    pub async fn measured(ahead: Option<i64>) -> ClockStatus {
        let store = Store::default();
        store.set(ahead);
        let clock_guard = store.clock_guard();
        clock_guard.look().await;
        clock_guard.clock_status()
    }

    #[tokio::test]
    async fn more_than_a_second_apart_is_too_far_until_it_is_half_a_second() {
        let store = Store::default();
        let clock_guard = store.clock_guard();
        let clock_status = clock_guard.clock_status();
        for (ahead, trouble) in [
            (0, None),
            (-900, None),
            (900, None),
            (-1_200, Some("ahead of")),
            (-800, Some("ahead of")),
            (300, None),
            (1_200, Some("behind")),
            (5_000, Some("behind")),
            (0, None),
        ] {
            store.set(Some(ahead));
            clock_guard.look().await;
            let told = clock_status.trouble();
            assert_eq!(told.is_some(), trouble.is_some(), "{ahead}: {told:?}");
            assert!(!clock_status.is_store_silent());
            assert!(trouble.is_none_or(|word| told.unwrap().contains(word)), "{ahead}");
        }
    }

    #[tokio::test]
    async fn a_store_that_is_away_tells_nothing_of_the_clock() {
        let store = Store::default();
        let clock_guard = store.clock_guard();
        for ahead in [3_000, 0] {
            store.set(Some(ahead));
            clock_guard.look().await;
            store.set(None);
            clock_guard.look().await;
            assert_eq!(clock_guard.clock_status().is_off(), ahead == 3_000);
            assert!(clock_guard.clock_status().is_store_silent());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_measured_every_second_and_whoever_waits_is_told() {
        let store = Store::default();
        store.set(Some(0));
        let clock_guard = store.clock_guard();
        let mut clock_status = clock_guard.clock_status();
        let _running = tokio::spawn(clock_guard.run());
        store.set(Some(9_000));
        for off in [false, true, false] {
            clock_status.changed(off).await;
            assert_eq!(clock_status.is_off(), !off);
            store.set(Some(if off { 9_000 } else { 0 }));
        }
    }

    /// Of a clock that believes a wall clock which showed this.
    pub fn believing(wall: u64) -> ClockStatus {
        let clock = Arc::new(Clock::believing(wall, STEP_MAX));
        ClockStatus { measured: watch::channel(Measured::default()).1, clock }
    }

    /// A guard of a clock that believes a wall clock of 1970.
    fn stepped(store_time: impl Fn() -> Answer<Option<u64>> + Send + Sync + 'static) -> (ClockGuard, ClockStatus) {
        let clock = Arc::new(Clock::believing(0, STEP_MAX));
        let clock_guard = ClockGuard::new(store_time, clock, &mut Registry::default());
        let clock_status = clock_guard.clock_status();
        (clock_guard, clock_status)
    }

    #[tokio::test]
    async fn a_step_is_trouble_and_sends_no_socket_away() {
        let (clock_guard, clock_status) = stepped(|| Box::pin(async { Ok(None) }));
        assert!(clock_status.trouble().unwrap().starts_with("the wall clock stepped forward by "));
        clock_guard.look().await;
        clock_guard.look().await;
        assert!(clock_status.trouble().is_some() && !clock_status.is_off());
        assert_eq!(clock_guard.steps.get(), 1);
        assert!(ClockStatus::alone().trouble().is_none());
    }

    #[tokio::test]
    async fn a_step_that_the_store_confirms_is_believed() {
        let (clock_guard, clock_status) = stepped(|| Box::pin(async { Ok(Some(clock::wall())) }));
        // It has shown the right time all along.
        clock_guard.store_offset.store(offset_of(clock::wall()), Ordering::Relaxed);
        clock_guard.look().await;
        assert!(clock_status.trouble().is_none());
        assert_eq!(clock_guard.steps.get(), 1, "it was one, all the same");
    }

    #[tokio::test]
    async fn a_store_that_makes_the_same_step_confirms_nothing() {
        let (clock_guard, clock_status) = stepped(|| Box::pin(async { Ok(Some(clock::wall())) }));
        clock_guard.store_offset.store(offset_of(0), Ordering::Relaxed);
        clock_guard.look().await;
        clock_guard.look().await;
        assert!(clock_status.trouble().is_some_and(|trouble| trouble.contains("stepped")));
    }

    #[tokio::test]
    async fn a_step_that_the_store_does_not_confirm_is_not() {
        let (clock_guard, clock_status) = stepped(|| Box::pin(async { Ok(Some(5_000)) }));
        clock_guard.look().await;
        assert!(clock_status.trouble().unwrap().contains("stepped"));
    }

    #[tokio::test]
    async fn a_step_forward_that_an_operator_accepts_is_followed() {
        let (clock_guard, clock_status) = stepped(|| Box::pin(async { Ok(None) }));
        clock_guard.look().await;
        assert!(clock_status.clocks().server < 60_000);
        assert!(clock_status.accept().unwrap().is_some_and(|step| step > 0));
        clock_guard.look().await;
        assert!(clock_status.trouble().is_none() && clock_status.accept().unwrap().is_none());
        let Clocks { wall, server, .. } = clock_status.clocks();
        assert!(wall.abs_diff(server) < 1_000, "{server} {wall}");
        assert_eq!(clock_guard.steps.get(), 1);
    }

    #[test]
    fn a_step_back_is_accepted_unless_it_leaves_the_clock_more_than_a_day_ahead() {
        let hour = 3_600_000;
        let near = believing(clock::wall() + 3 * hour);
        assert!(near.accept().unwrap().is_some_and(|step| step < 0));
        assert!(near.trouble().is_none());
        let Clocks { wall, server, .. } = near.clocks();
        assert!(server > wall + 2 * hour, "it does not go back");
        let far = believing(clock::wall() + 30 * hour);
        let TooFarAhead(by) = far.accept().unwrap_err();
        assert!(by > Duration::from_secs(29 * 3_600));
        assert!(far.trouble().is_some());
    }

    #[test]
    fn a_wait_is_no_distance() {
        for (told, apart) in [(999, 1), (1_000, 0), (3_500, 0), (5_000, 0), (5_001, -1), (0, 1_000)] {
            assert_eq!(distance(1_000, told, 5_000), apart, "{told}");
        }
    }
}
