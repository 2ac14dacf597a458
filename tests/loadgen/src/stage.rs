//! The shared state of the sockets of one crowd. A crowd lives on one thread, so nothing is locked.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore};

use super::dice::Dice;
use super::load::Load;
use super::message::Task;
use super::schedule::Schedule;
use super::tally::Tally;
use super::target::{Target, Tokens};
use super::viewer::Habits;

/// The buffer for reads, which all sockets share.
const SCRATCH_BYTES: usize = 64 * 1024;
/// Sockets that connect at the same time.
const CONNECTING_MAX: usize = 512;
/// The life of a token beyond the load, for connecting and reading back.
const TOKEN_SPARE: Duration = Duration::from_secs(3600);

pub struct Stage {
    pub load: Load,
    pub habits: Habits,
    pub targets: Vec<Target>,
    /// The targets echo what they receive.
    pub echo: bool,
    pub run: u64,
    pub tokens: Tokens,
    schedule: Cell<Schedule>,
    pub tally: RefCell<Tally>,
    pub dice: RefCell<Dice>,
    pub scratch: RefCell<Vec<u8>>,
    pub buffers: RefCell<Buffers>,
    pub door: Semaphore,
    /// Notified when a socket has connected for the first time, or has given up.
    pub entered: Notify,
    pub connected: Cell<u64>,
    /// The reason why a socket could not connect.
    pub failure: RefCell<Option<String>>,
    /// Beats that were sent and not answered.
    pub open: Cell<u64>,
    began: Instant,
    /// When the load began, nanoseconds since `began`.
    start: Cell<Option<u64>>,
    /// The measured time: from, to, nanoseconds of the load.
    measured: Cell<(u64, u64)>,
}

#[derive(Default)]
pub struct Buffers {
    pub text: Vec<u8>,
    pub frame: Vec<u8>,
}

impl Stage {
    pub fn new(task: &Task, crowd: u32) -> Rc<Self> {
        let load = task.load.clone();
        let (first, end) = task.sockets_of(crowd);
        let rate = load.rate * (end - first) as f64 / load.sockets as f64;
        // Each crowd starts at its own offset, so that crowds take turns, too.
        let offset = f64::from(crowd) / load.rate;
        let schedule = Schedule::new(rate, load.lasts().as_secs_f64(), end - first, offset);
        let mut tally = Tally::new(load.by_second);
        tally.counts.intended = schedule.total;
        let warm_up = load.warm_up.as_nanos() as u64;
        let ttl = load.lasts() + load.drain + TOKEN_SPARE;
        let stage = Stage {
            habits: load.habits(),
            targets: task.targets.clone(),
            echo: task.targets.iter().all(|target| target.echo),
            run: task.run,
            tokens: Tokens::new(&task.credentials, ttl),
            schedule: Cell::new(schedule),
            tally: RefCell::new(tally),
            dice: RefCell::new(Dice::new(task.run << 16 | u64::from(crowd))),
            scratch: RefCell::new(vec![0; SCRATCH_BYTES]),
            buffers: RefCell::default(),
            door: Semaphore::new(CONNECTING_MAX),
            entered: Notify::new(),
            connected: Cell::new(0),
            failure: RefCell::default(),
            open: Cell::new(0),
            began: Instant::now(),
            start: Cell::new(None),
            measured: Cell::new((warm_up, load.lasts().as_nanos() as u64)),
            load,
        };
        Rc::new(stage)
    }

    pub fn begin(&self, at: Instant) {
        self.start.set(Some(at.saturating_duration_since(self.began).as_nanos() as u64));
    }

    pub fn schedule(&self) -> Schedule {
        self.schedule.get()
    }

    /// Ends the load: beats that are not due yet are never sent.
    pub fn end(&self) {
        let now = self.now().unwrap_or(0);
        let schedule = self.schedule().until(now);
        self.tally.borrow_mut().counts.intended = schedule.total;
        self.schedule.set(schedule);
        self.measured.set((self.measured.get().0, now));
    }

    /// Nanoseconds since the start of the load; `None` before it.
    pub fn now(&self) -> Option<u64> {
        self.lived().checked_sub(self.start.get()?)
    }

    /// The instant of a time of the load.
    pub fn moment(&self, nanos: u64) -> Instant {
        self.began + Duration::from_nanos(self.start.get().unwrap_or(0) + nanos)
    }

    /// Milliseconds by the crowd's own clock: now. [`clock_ms_at`](Self::clock_ms_at): at a time of the load.
    pub fn clock_ms(&self) -> u64 {
        self.lived() / 1_000_000
    }

    pub fn clock_ms_at(&self, nanos: u64) -> u64 {
        (self.start.get().unwrap_or(0) + nanos) / 1_000_000
    }

    pub fn is_measured(&self, nanos: u64) -> bool {
        let (from, to) = self.measured.get();
        (from..to).contains(&nanos)
    }

    /// Whether all beats were due.
    pub fn is_over(&self) -> bool {
        self.now().is_some_and(|now| now >= self.measured.get().1)
    }

    pub fn share(&self) -> f64 {
        self.dice.borrow_mut().share()
    }

    /// A key for the frame of a client.
    pub fn mask(&self) -> u32 {
        self.dice.borrow_mut().roll() as u32
    }

    /// Whether every beat was sent and answered.
    pub fn is_done(&self) -> bool {
        let tally = self.tally.borrow();
        tally.counts.sent == tally.counts.intended && self.open.get() == 0
    }

    fn lived(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }
}
