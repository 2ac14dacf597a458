//! The server clock, by which beats are judged.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::source::{MachineTime, TimeSource};

/// Milliseconds; forward if positive.
pub type Step = i64;

/// How far the wall clock drifts before its distance is stored again. The distance is read by all threads for every
/// beat, so it is written rarely.
const DRIFT_MS: u64 = 1_000;

/// max(wall clock, its last reading + monotonic time since): it follows a small step forward and ignores one back.
///
/// That is the monotonic clock plus the greatest distance that was ever believed between the two, so a reading is at
/// most one atomic maximum and no lock. The monotonic clock goes on while the machine is suspended (`CLOCK_BOOTTIME`),
/// so that waking up is no step.
///
/// A *large* step of the wall clock, in either direction, is not believed. The clock goes on by the monotonic one, and
/// is in doubt until the wall clock is back ([`Clock::look`]) or something else confirms it ([`Clock::believe`]). No
/// reading ever shows such a step, so nothing is judged, stored or pruned by it.
#[derive(Debug)]
pub struct Clock {
    source: Box<dyn TimeSource>,
    started: Instant,
    /// The time from the boot of the machine to the start of this clock.
    started_after_boot: Duration,
    /// How long the machine was suspended since then, in milliseconds, as last measured.
    suspended: AtomicU64,
    /// The server's clock minus monotonic time, milliseconds; it only grows, but for [`fall_back`](Self::fall_back).
    offset: AtomicU64,
    /// The wall clock minus monotonic time, milliseconds, as it was last believed.
    wall_offset: AtomicI64,
    step_ms_max: u64,
    /// Changes were judged by it: it never goes back any more.
    has_judged: AtomicBool,
    doubt: watch::Sender<Option<Step>>,
}

impl Clock {
    /// Starts with the wall clock, but not before `floor` (server-clock milliseconds). `step_max`: larger steps of the
    /// wall clock are not believed.
    pub fn starting_at(floor: u64, step_max: Duration) -> Self {
        Self::of(Box::new(MachineTime), floor, step_max)
    }

    /// The same, with other clocks than this machine's.
    pub fn of(source: Box<dyn TimeSource>, floor: u64, step_max: Duration) -> Self {
        let wall = source.wall();
        Self::with_wall(source, wall, floor, step_max)
    }

    /// A clock that believes a wall clock which has shown `wall`.
    #[cfg(any(test, feature = "fixtures"))]
    pub fn believing(wall: u64, step_max: Duration) -> Self {
        Self::with_wall(Box::new(MachineTime), wall, wall, step_max)
    }

    fn with_wall(source: Box<dyn TimeSource>, wall: u64, floor: u64, step_max: Duration) -> Self {
        Clock {
            started: source.instant(),
            started_after_boot: source.since_boot(),
            source,
            suspended: AtomicU64::new(0),
            offset: AtomicU64::new(floor),
            wall_offset: AtomicI64::new(signed(wall)),
            step_ms_max: u64::try_from(step_max.as_millis()).unwrap_or(u64::MAX),
            has_judged: AtomicBool::new(false),
            doubt: watch::Sender::default(),
        }
    }

    /// Server-clock milliseconds since 1970.
    pub fn now(&self) -> u64 {
        self.reading(self.wall(), self.elapsed())
    }

    /// The wall clock, milliseconds since 1970, whatever is believed of it. Tokens are judged by it.
    pub fn wall(&self) -> u64 {
        self.source.wall()
    }

    /// The monotonic clock, by which deadlines are kept.
    pub fn instant(&self) -> Instant {
        self.source.instant()
    }

    /// The time of this clock at an earlier moment, without steps and suspensions that were not noticed by then. Reads
    /// no clock.
    pub fn at(&self, moment: Instant) -> u64 {
        let awake = moment.saturating_duration_since(self.started).as_millis() as u64;
        self.offset.load(Ordering::Relaxed) + self.suspended.load(Ordering::Relaxed) + awake
    }

    /// The step of the wall clock that is in doubt, as it was first seen; `None` = the wall clock is believed.
    pub fn doubt(&self) -> Option<Step> {
        *self.doubt.borrow()
    }

    /// The same, to wait for.
    pub fn watch_doubt(&self) -> watch::Receiver<Option<Step>> {
        self.doubt.subscribe()
    }

    /// Compares the wall clock with the monotonic one, and ends the doubt when the wall clock is back.
    pub fn look(&self) -> Option<Step> {
        let elapsed = self.elapsed();
        let awake = self.instant().saturating_duration_since(self.started).as_millis() as u64;
        self.suspended.store(elapsed.saturating_sub(awake), Ordering::Relaxed);
        self.judge(self.wall(), elapsed)
    }

    /// Believes the wall clock: it is followed from now on as after a start.
    pub fn believe(&self) {
        let (wall, elapsed) = (self.wall(), self.elapsed());
        self.wall_offset.store(signed(wall) - signed(elapsed), Ordering::Relaxed);
        self.judge(wall, elapsed);
    }

    /// Says that changes are judged by this clock from now on.
    pub fn begin_to_judge(&self) {
        // Written once, since all threads read what is beside it for every beat.
        if !self.has_judged.load(Ordering::Relaxed) {
            self.has_judged.store(true, Ordering::Relaxed);
        }
    }

    /// Goes by the wall clock from now on, also if that is earlier than what it has shown; `false` = it cannot, since
    /// changes were judged by it.
    pub fn fall_back(&self) -> bool {
        if self.has_judged.load(Ordering::Relaxed) {
            return false;
        }
        let (wall, elapsed) = (self.wall(), self.elapsed());
        self.wall_offset.store(signed(wall) - signed(elapsed), Ordering::Relaxed);
        self.offset.store(wall.saturating_sub(elapsed), Ordering::Relaxed);
        self.judge(wall, elapsed);
        true
    }

    fn judge(&self, wall: u64, elapsed: u64) -> Option<Step> {
        self.reading(wall, elapsed);
        if self.step(wall, elapsed).unsigned_abs() <= self.step_ms_max {
            self.doubt.send_if_modified(|doubt| doubt.take().is_some());
        }
        self.doubt()
    }

    fn reading(&self, wall: u64, elapsed: u64) -> u64 {
        let known = self.offset.load(Ordering::Relaxed);
        let step = self.step(wall, elapsed);
        if step.unsigned_abs() > self.step_ms_max {
            self.doubt.send_if_modified(|doubt| doubt.is_none() && doubt.replace(step).is_none());
            return known + elapsed;
        }
        if step.unsigned_abs() > DRIFT_MS {
            self.wall_offset.store(signed(wall) - signed(elapsed), Ordering::Relaxed);
        }
        let seen = wall.saturating_sub(elapsed);
        // Written only when it grows, since all threads read it for every beat.
        let offset = if seen > known { self.offset.fetch_max(seen, Ordering::Relaxed).max(seen) } else { known };
        offset + elapsed
    }

    /// The step from the believed wall clock to this reading of it.
    fn step(&self, wall: u64, elapsed: u64) -> Step {
        signed(wall) - signed(elapsed) - self.wall_offset.load(Ordering::Relaxed)
    }

    /// Milliseconds since the start.
    fn elapsed(&self) -> u64 {
        self.source.since_boot().saturating_sub(self.started_after_boot).as_millis() as u64
    }
}

/// The machine's wall clock, milliseconds since 1970, for parts that are not handed a clock.
pub fn wall() -> u64 {
    MachineTime.wall()
}

/// The machine's monotonic time, suspensions included.
pub fn since_boot() -> Duration {
    MachineTime.since_boot()
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP_MAX: Duration = Duration::from_secs(60);

    fn with_wall(wall: u64, floor: u64, step_max: Duration) -> Clock {
        Clock::with_wall(Box::new(MachineTime), wall, floor, step_max)
    }

    #[test]
    fn the_clock_follows_a_small_step_forward_and_ignores_one_back() {
        let clock = with_wall(1_000, 0, STEP_MAX);
        assert_eq!(clock.reading(1_000, 0), 1_000);
        assert_eq!(clock.reading(9_000, 10), 9_000);
        assert_eq!(clock.reading(2_000, 30), 9_020);
        assert_eq!(clock.reading(9_500, 40), 9_500);
        assert_eq!(clock.doubt(), None);
    }

    #[test]
    fn the_clock_ignores_a_large_step_until_the_wall_clock_is_back() {
        let clock = with_wall(100_000, 0, STEP_MAX);
        for (wall, step) in [(9_000_000, 8_899_990), (0, -100_010)] {
            assert_eq!(clock.reading(100_000, 0), 100_000);
            assert_eq!(clock.reading(wall, 10), 100_010, "it goes on by the monotonic clock");
            assert_eq!(clock.doubt(), Some(step));
            assert_eq!(clock.judge(wall + 990, 1_000), Some(step), "as it was first seen");
            assert_eq!(clock.reading(102_000, 2_000), 102_000);
            assert!(clock.doubt().is_some(), "until it is looked at");
            assert_eq!(clock.judge(103_000, 3_000), None);
        }
    }

    #[test]
    fn the_clock_follows_a_confirmed_large_step() {
        let clock = with_wall(100_000, 0, STEP_MAX);
        assert_eq!(clock.doubt(), None);
        assert!(clock.now() < 200_000);
        assert!(clock.doubt().is_some());
        clock.believe();
        assert_eq!(clock.doubt(), None);
        assert!(clock.now().abs_diff(wall()) < 1_000);
    }

    #[test]
    fn the_clock_falls_back_only_while_nothing_was_judged_by_it() {
        let clock = with_wall(wall() + 30_000, wall() + 30_000, STEP_MAX);
        assert!(clock.now() >= wall() + 29_000);
        assert!(clock.fall_back());
        assert!(clock.now().abs_diff(wall()) < 1_000 && clock.doubt().is_none());
        let clock = with_wall(wall() + 30_000, wall() + 30_000, STEP_MAX);
        clock.begin_to_judge();
        assert!(!clock.fall_back());
        assert!(clock.now() >= wall() + 29_000);
    }

    #[test]
    fn slow_drift_is_no_step() {
        let clock = with_wall(0, 0, STEP_MAX);
        for minute in 0..1_000 {
            // Half a minute too fast each minute.
            clock.reading(90_000 * minute, 60_000 * minute);
        }
        assert_eq!(clock.doubt(), None);
    }

    #[test]
    fn the_clock_gives_its_time_at_an_earlier_instant() {
        let clock = with_wall(9_000, 5_000, STEP_MAX);
        clock.reading(9_000, 0);
        let later = |seconds| clock.at(clock.started + Duration::from_secs(seconds));
        assert_eq!([later(0), later(2)], [9_000, 11_000]);
    }

    #[test]
    fn the_clock_does_not_start_before_the_newest_commit() {
        let clock = with_wall(1_000, 5_000, STEP_MAX);
        assert_eq!(clock.reading(1_000, 0), 5_000);
        assert_eq!(clock.reading(1_100, 100), 5_100);
    }
}
