use std::time::Instant;

use futures_util::FutureExt;
use parking_lot::Mutex;

use super::*;
use crate::fixtures::believing;
use crate::time::source::TimeSource;
use storage::hot_store::StoreError;

const STEP_MAX: Duration = Duration::from_secs(300);

/// A store whose clock is ahead of this machine's by this many milliseconds; `None` = it is away.
#[derive(Clone, Default)]
struct Store {
    ahead: Arc<Mutex<Option<i64>>>,
}

impl Store {
    fn set(&self, ahead: Option<i64>) {
        *self.ahead.lock() = ahead;
    }

    fn clock_guard(&self) -> ClockGuard {
        let ahead = self.ahead.clone();
        let tell = move || -> Answer<Option<u64>> {
            let ahead = *ahead.lock();
            Box::pin(async move {
                let ahead = ahead.ok_or_else(|| StoreError::Away("a test".to_owned()))?;
                Ok(Some(clock::wall().saturating_add_signed(ahead)))
            })
        };
        ClockGuard::new(tell, Arc::new(Clock::starting_at(0, STEP_MAX)), &mut Registry::default())
    }
}

#[tokio::test]
async fn the_clock_is_off_above_1_s_until_it_is_within_half_a_second() {
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
async fn the_clock_is_measured_every_second_and_waiting_tasks_see_each_change() {
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

/// A guard of a clock that believes a wall clock of 1970.
fn stepped(store_time: impl Fn() -> Answer<Option<u64>> + Send + Sync + 'static) -> (ClockGuard, ClockStatus) {
    let clock = Arc::new(Clock::believing(0, STEP_MAX));
    let clock_guard = ClockGuard::new(store_time, clock, &mut Registry::default());
    let clock_status = clock_guard.clock_status();
    (clock_guard, clock_status)
}

#[tokio::test]
async fn a_clock_step_is_trouble_but_closes_no_socket() {
    let (clock_guard, clock_status) = stepped(|| Box::pin(async { Ok(None) }));
    assert!(clock_status.trouble().unwrap().starts_with("the wall clock stepped forward by "));
    clock_guard.look().await;
    clock_guard.look().await;
    assert!(clock_status.trouble().is_some() && !clock_status.is_off());
    assert_eq!(clock_guard.steps.get(), 1);
    // From 1970 to now.
    let exported = StepInDoubt(clock_guard.clock.clone()).seconds();
    assert!(exported > 86_400.0 * 365.0 * 50.0, "{exported}");
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
async fn a_step_that_the_store_does_not_confirm_is_not_believed() {
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
    assert_eq!(StepInDoubt(clock_guard.clock.clone()).seconds(), 0.0, "nothing is in doubt any more");
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
fn the_time_of_the_round_trip_does_not_count_as_distance() {
    for (told, apart) in [(999, 1), (1_000, 0), (3_500, 0), (5_000, 0), (5_001, -1), (0, 1_000)] {
        assert_eq!(distance(1_000, told, 5_000), apart, "{told}");
    }
}

/// A machine whose wall clock is ahead of the truth by this many milliseconds, with a store that knows the truth.
#[derive(Clone, Debug)]
struct Machine {
    began: Instant,
    ahead: Arc<AtomicI64>,
}

impl TimeSource for Machine {
    fn wall(&self) -> u64 {
        TRUTH.saturating_add_signed(self.ahead.load(Ordering::Relaxed)) + self.since_boot().as_millis() as u64
    }

    fn instant(&self) -> Instant {
        Instant::now()
    }

    fn since_boot(&self) -> Duration {
        self.began.elapsed()
    }
}

const TRUTH: u64 = 1_795_150_000_000;

impl Machine {
    fn ahead_by(ms: i64) -> (Self, ClockGuard) {
        let machine = Machine { began: Instant::now(), ahead: Arc::new(AtomicI64::new(ms)) };
        let clock = Arc::new(Clock::of(Box::new(machine.clone()), 0, STEP_MAX));
        let began = machine.began;
        let tell = move || -> Answer<Option<u64>> {
            Box::pin(async move { Ok(Some(TRUTH + began.elapsed().as_millis() as u64)) })
        };
        (machine, ClockGuard::new(tell, clock, &mut Registry::default()))
    }

    fn set(&self, ahead: i64) {
        self.ahead.store(ahead, Ordering::Relaxed);
    }
}

fn is_lost(clock_guard: &ClockGuard) -> bool {
    clock_guard.clock_status().lost().now_or_never().is_some()
}

#[tokio::test]
async fn a_clock_that_was_ahead_from_the_start_falls_back_when_it_is_corrected() {
    for ahead in [1_500, 3_000, 59_000] {
        let (machine, clock_guard) = Machine::ahead_by(ahead);
        clock_guard.look().await;
        assert!(clock_guard.clock_status().is_off());
        machine.set(0);
        clock_guard.look().await;
        let clock_status = clock_guard.clock_status();
        assert!(clock_status.trouble().is_none() && !is_lost(&clock_guard), "{ahead}: {:?}", clock_status.trouble());
        let Clocks { wall, server, is_off, .. } = clock_status.clocks();
        assert!(wall.abs_diff(server) < 500 && !is_off, "{ahead}: {wall} {server}");
    }
}

#[tokio::test]
async fn a_clock_that_has_judged_or_was_trusted_is_lost_when_it_is_corrected() {
    for (start, has_judged) in [(3_000, true), (0, false), (0, true), (70_000, false)] {
        let (machine, clock_guard) = Machine::ahead_by(start);
        clock_guard.look().await;
        if has_judged {
            clock_guard.clock.begin_to_judge();
        }
        machine.set(start.max(2_000));
        clock_guard.look().await;
        assert!(clock_guard.clock_status().is_off() && !is_lost(&clock_guard), "{start}: it may be the store's fault");
        machine.set(0);
        clock_guard.look().await;
        assert!(clock_guard.clock_status().is_off() && is_lost(&clock_guard), "{start}");
        clock_guard.look().await;
        assert!(is_lost(&clock_guard), "{start}: and stays so");
    }
}

#[tokio::test]
async fn a_clock_that_is_behind_or_not_corrected_is_not_lost() {
    let (machine, clock_guard) = Machine::ahead_by(0);
    for ahead in [0, -5_000, 0, 900, 0, 2_000, 2_000, 1_400] {
        machine.set(ahead);
        clock_guard.look().await;
        assert!(!is_lost(&clock_guard), "{ahead}");
    }
}

#[tokio::test]
async fn a_clock_in_doubt_is_not_lost_before_the_doubt_is_over() {
    let (machine, clock_guard) = Machine::ahead_by(0);
    clock_guard.look().await;
    machine.set(200_000);
    clock_guard.look().await;
    assert!(clock_guard.clock_status().is_off());
    // By more than is believed.
    machine.set(-200_000);
    clock_guard.look().await;
    assert!(!is_lost(&clock_guard));
    assert!(clock_guard.clock_status().trouble().is_some_and(|trouble| trouble.contains("stepped")));
    machine.set(0);
    clock_guard.look().await;
    assert!(is_lost(&clock_guard));
}
