//! Whether the server's clock is that of its store.
//!
//! Several gateways on one store judge beats by clocks of their own. The store's clock is the measure: a gateway that is
//! too far from it serves nobody until it is back, since what it would accept or refuse the others would not.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::clock::Clock;
use crate::storage::hot_store::Answer;

const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// A store that does not tell its time is not waited for any longer; what was known before stays.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// So far apart the two may be.
const APART_MS_MAX: u64 = 1_000;
/// So near they must come to each other again, so that nobody is sent away at every measure.
const BACK_MS_MAX: u64 = 500;

/// How far the server's clock is ahead of the store's, or behind if negative: milliseconds.
type Apart = i64;

/// What a part is handed to learn of it.
#[derive(Clone, Debug)]
pub struct Timekeeping {
    measured: watch::Receiver<Measured>,
}

/// What the last look has shown.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    /// `None` while the two are near enough.
    apart: Option<Apart>,
    /// The store did not tell its time.
    silent: bool,
}

impl Timekeeping {
    /// For a store that has no clock: the server's is right.
    pub fn alone() -> Self {
        Timekeeping { measured: watch::channel(Measured::default()).1 }
    }

    /// What is wrong; `None` = nothing. Takes a lock for a moment: ask once per connection or request.
    pub fn trouble(&self) -> Option<String> {
        let apart = self.measured.borrow().apart?;
        let side = if apart > 0 { "ahead of" } else { "behind" };
        Some(format!("the clock is {} ms {side} the store's", apart.unsigned_abs()))
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

/// Measures the clock against the store's, every second.
pub struct Timekeeper {
    store_time: Box<dyn Fn() -> Answer<Option<u64>> + Send + Sync>,
    clock: Arc<Clock>,
    measured: watch::Sender<Measured>,
    apart: Gauge<i64, AtomicI64>,
}

impl Timekeeper {
    /// `store_time`: [`HotStore::time`](crate::storage::hot_store::HotStore::time) of the store.
    pub fn new(
        store_time: impl Fn() -> Answer<Option<u64>> + Send + Sync + 'static,
        clock: Arc<Clock>,
        registry: &mut Registry,
    ) -> Self {
        let apart = Gauge::default();
        let what = "Milliseconds by which the server's clock is ahead of the store's; negative = behind";
        registry.register("store_clock_apart_milliseconds", what, apart.clone());
        Timekeeper { store_time: Box::new(store_time), clock, measured: watch::Sender::default(), apart }
    }

    pub fn timekeeping(&self) -> Timekeeping {
        Timekeeping { measured: self.measured.subscribe() }
    }

    /// Measures for as long as it is polled.
    pub async fn run(self) {
        while self.look().await {
            sleep(LOOK_INTERVAL).await;
        }
    }

    /// Measures once; whether there is anything to measure against. Call it before anybody is served.
    pub async fn look(&self) -> bool {
        let before = self.clock.now();
        match timeout(ANSWER_TIMEOUT, (self.store_time)()).await {
            Ok(Ok(Some(told))) => {
                self.judge(distance(before, told, self.clock.now()));
                true
            }
            Ok(Ok(None)) => false,
            // Whoever commits to it says so.
            Ok(Err(_)) | Err(_) => {
                self.measured.send_modify(|measured| measured.silent = true);
                true
            }
        }
    }

    fn judge(&self, apart: Apart) {
        self.apart.set(apart);
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

#[cfg(test)]
pub mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::domain::clock;
    use crate::storage::hot_store::StoreError;

    /// A store whose clock is so far ahead of this machine's; `None` = it is away.
    #[derive(Clone, Default)]
    struct Store {
        ahead: Arc<Mutex<Option<i64>>>,
    }

    impl Store {
        fn set(&self, ahead: Option<i64>) {
            *self.ahead.lock().unwrap() = ahead;
        }

        fn timekeeper(&self) -> Timekeeper {
            let ahead = self.ahead.clone();
            let tell = move || -> Answer<Option<u64>> {
                let ahead = *ahead.lock().unwrap();
                Box::pin(async move {
                    let ahead = ahead.ok_or_else(|| StoreError::Away("a test".to_owned()))?;
                    Ok(Some(clock::wall().saturating_add_signed(ahead)))
                })
            };
            Timekeeper::new(tell, Arc::new(Clock::starting_at(0)), &mut Registry::default())
        }
    }

    /// What was measured against a store whose clock is so far ahead of this machine's; `None` = it is away.
    pub async fn measured(ahead: Option<i64>) -> Timekeeping {
        let store = Store::default();
        store.set(ahead);
        let timekeeper = store.timekeeper();
        timekeeper.look().await;
        timekeeper.timekeeping()
    }

    #[tokio::test]
    async fn more_than_a_second_apart_is_too_far_until_it_is_half_a_second() {
        let store = Store::default();
        let timekeeper = store.timekeeper();
        let timekeeping = timekeeper.timekeeping();
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
            assert!(timekeeper.look().await);
            let told = timekeeping.trouble();
            assert_eq!(told.is_some(), trouble.is_some(), "{ahead}: {told:?}");
            assert!(!timekeeping.is_store_silent());
            assert!(trouble.is_none_or(|word| told.unwrap().contains(word)), "{ahead}");
        }
    }

    #[tokio::test]
    async fn a_store_that_is_away_tells_nothing_of_the_clock() {
        let store = Store::default();
        let timekeeper = store.timekeeper();
        for ahead in [3_000, 0] {
            store.set(Some(ahead));
            timekeeper.look().await;
            store.set(None);
            assert!(timekeeper.look().await);
            assert_eq!(timekeeper.timekeeping().is_off(), ahead == 3_000);
            assert!(timekeeper.timekeeping().is_store_silent());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_measured_every_second_and_whoever_waits_is_told() {
        let store = Store::default();
        store.set(Some(0));
        let timekeeper = store.timekeeper();
        let mut timekeeping = timekeeper.timekeeping();
        let _running = tokio::spawn(timekeeper.run());
        store.set(Some(9_000));
        for off in [false, true, false] {
            timekeeping.changed(off).await;
            assert_eq!(timekeeping.is_off(), !off);
            store.set(Some(if off { 9_000 } else { 0 }));
        }
    }

    #[tokio::test]
    async fn a_store_without_a_clock_is_not_asked_again() {
        let tell = || -> Answer<Option<u64>> { Box::pin(async { Ok(None) }) };
        let timekeeper = Timekeeper::new(tell, Arc::new(Clock::starting_at(0)), &mut Registry::default());
        let timekeeping = timekeeper.timekeeping();
        timekeeper.run().await;
        assert!(!timekeeping.is_off() && !Timekeeping::alone().is_off());
    }

    #[test]
    fn a_wait_is_no_distance() {
        for (told, apart) in [(999, 1), (1_000, 0), (3_500, 0), (5_000, 0), (5_001, -1), (0, 1_000)] {
            assert_eq!(distance(1_000, told, 5_000), apart, "{told}");
        }
    }
}
