//! Plays the scenarios with as many workers as come, and gathers what is found.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};

use super::everywhere;
use super::gateway::Gateway;
use super::report::Report;
use super::rule::Verdict;
use super::scenario::Scenario;
use super::selection::Selection;
use super::stage::{Stage, Stop};
use super::tokens::Tokens;
use super::worker::{ASKERS_MAX, Asker, Worker};

/// After this time without a request for an instruction, while no scenario is played, the harness counts as gone.
const PATIENCE: Duration = Duration::from_secs(30);
/// The workers are still to be told that all is done.
const FAREWELL: Duration = Duration::from_millis(500);
/// The server's clock is so far from this machine's, one way or the other, that a client that goes by its own is found.
const CLOCK_MINUTES: std::ops::Range<i64> = 10..60;

pub struct Kit {
    pub tokens: Rc<Tokens>,
    seed: u64,
    selection: Selection,
    random: RefCell<StdRng>,
    users: RefCell<HashMap<u64, Rc<Gateway>>>,
    waiting: RefCell<VecDeque<&'static Scenario>>,
    workers: RefCell<HashMap<String, mpsc::Sender<Asker>>>,
    verdicts: RefCell<BTreeMap<&'static str, Verdict>>,
    /// Scenarios without an end.
    left: Cell<usize>,
    asked_at: Cell<Option<Instant>>,
    ended: Notify,
    progress: Box<dyn Fn(&str)>,
}

impl Kit {
    pub fn new(seed: u64, selection: Selection, progress: Box<dyn Fn(&str)>) -> Self {
        let waiting = VecDeque::from(selection.scenarios());
        Kit {
            tokens: Rc::default(),
            seed,
            selection,
            random: RefCell::new(StdRng::seed_from_u64(seed)),
            users: RefCell::default(),
            left: Cell::new(waiting.len()),
            waiting: RefCell::new(waiting),
            workers: RefCell::default(),
            verdicts: RefCell::default(),
            asked_at: Cell::default(),
            ended: Notify::new(),
            progress,
        }
    }

    pub fn gateway(&self, user: u64) -> Option<Rc<Gateway>> {
        self.users.borrow().get(&user).cloned()
    }

    /// Returns what resolves to the next instruction of a worker once it is due; `None` if too many of its requests wait.
    pub fn ask(self: &Rc<Self>, worker: &str, url: String) -> Option<oneshot::Receiver<Value>> {
        self.asked_at.set(Some(Instant::now()));
        let (sender, answer) = oneshot::channel();
        let known = self.workers.borrow().get(worker).cloned();
        let askers = known.filter(|askers| !askers.is_closed()).unwrap_or_else(|| self.hire(worker));
        askers.try_send(Asker { url, answer: sender }).ok().map(|()| answer)
    }

    fn hire(self: &Rc<Self>, name: &str) -> mpsc::Sender<Asker> {
        let (sender, askers) = mpsc::channel(ASKERS_MAX);
        self.workers.borrow_mut().insert(name.to_owned(), sender.clone());
        spawn_local(self.clone().work(Worker::new(askers)));
        sender
    }

    /// Plays scenarios as long as there are some.
    async fn work(self: Rc<Self>, mut worker: Worker) {
        loop {
            let Some(scenario) = self.waiting.borrow_mut().pop_front() else { return worker.dismiss().await };
            worker = self.play(scenario, worker).await;
            self.left.set(self.left.get() - 1);
            self.ended.notify_waiters();
        }
    }

    async fn play(&self, scenario: &'static Scenario, worker: Worker) -> Worker {
        let gateway = self.open();
        let random = StdRng::seed_from_u64(self.random.borrow_mut().random());
        let mut stage = Stage::new(gateway.clone(), scenario.name, worker, random);
        let played = (scenario.play)(&mut stage).await;
        let stopped = stage.does("stop").await;
        let why = [played, stopped].into_iter().find_map(Result::err);
        self.users.borrow_mut().remove(&gateway.user);
        let (verdicts, worker) = stage.end();
        self.note(scenario, verdicts, why.as_ref(), &gateway);
        worker
    }

    /// A gateway for a user of its own.
    fn open(&self) -> Rc<Gateway> {
        let mut random = self.random.borrow_mut();
        let mut users = self.users.borrow_mut();
        let mut user = random.random_range(1_000_000..u64::from(u32::MAX));
        while users.contains_key(&user) {
            user += 1;
        }
        let minutes = random.random_range(CLOCK_MINUTES) * if random.random() { 1 } else { -1 };
        let clock = jiff::Timestamp::now().as_millisecond() + minutes * 60_000;
        let gateway = Rc::new(Gateway::new(user, clock, self.tokens.clone()));
        users.insert(user, gateway.clone());
        gateway
    }

    fn note(
        &self,
        scenario: &Scenario,
        mut found: BTreeMap<&'static str, Verdict>,
        why: Option<&Stop>,
        gateway: &Gateway,
    ) {
        for rule in scenario.rules {
            let reason = why.map_or("the scenario did not come so far", |Stop(reason)| reason);
            found.entry(rule.name).or_insert_with(|| Verdict::NotTried(format!("{}: {reason}", scenario.name)));
        }
        let seconds = gateway.ms() as f64 / 1000.0;
        let passed = found.values().filter(|verdict| **verdict == Verdict::Passed).count();
        (self.progress)(&format!("{}: {passed} of {} rules passed, {seconds:.1} s", scenario.name, found.len()));
        let everywhere = everywhere::judge(&gateway.log());
        let everywhere = everywhere.into_iter().map(|(rule, verdict)| (rule.name, verdict));
        let mut verdicts = self.verdicts.borrow_mut();
        for (rule, verdict) in found.into_iter().chain(everywhere) {
            let merged = match verdicts.remove(rule) {
                Some(before) => before.and(verdict),
                None => verdict,
            };
            verdicts.insert(rule, merged);
        }
    }

    /// Resolves when all was played, or when the harness has gone.
    pub async fn end(&self) {
        loop {
            let all_played = self.left.get() == 0;
            if all_played {
                return sleep(FAREWELL).await;
            }
            tokio::select! {
                () = self.ended.notified() => {}
                () = sleep(Duration::from_secs(1)) => {}
            }
            let nobody_plays = self.left.get() == self.waiting.borrow().len();
            let is_late = self.asked_at.get().is_some_and(|at| at.elapsed() > PATIENCE);
            if nobody_plays && is_late {
                return;
            }
        }
    }

    pub fn report(&self) -> Report {
        Report::new(self.seed, &self.selection, &self.verdicts.borrow())
    }
}
