//! Runs seed after seed, and shrinks what breaks a promise.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::runtime::Runtime;
use tokio::task::unconstrained;

use crate::state_search::backing::Backing;
use crate::state_search::scenario::Scenario;
use crate::state_search::world::{RESTLESS, World};

/// Orders of events that are tried with something left out.
const TRIES: usize = 60;

/// A broken promise, and what has led to it.
pub struct Breach {
    pub why: String,
    pub trace: Vec<String>,
}

/// What runs run on.
pub struct Drive<F> {
    pub runtime: Runtime,
    /// An empty store for a run.
    pub fresh: F,
}

pub fn search<B: Backing>(seeds: Range<u64>, ops_max: usize, drive: &Drive<impl Fn(&Scenario) -> B>) {
    for seed in seeds {
        let scenario = Scenario::of(seed, ops_max);
        if let Err(breach) = attempt(&scenario, drive, false) {
            let (scenario, breach) = shrink(scenario, breach.is_restless(), drive);
            let trace = breach.trace.join("\n");
            panic!("seed {seed}: {}\n\n{scenario:#?}\n\n{trace}\n\nseed {seed}: {}", breach.why, breach.why);
        }
    }
}

fn attempt<B: Backing>(
    scenario: &Scenario,
    drive: &Drive<impl Fn(&Scenario) -> B>,
    traced: bool,
) -> Result<(), Breach> {
    let backing = (drive.fresh)(scenario);
    let mut world = World::new(scenario, &backing, traced);
    // A store in memory never waits: without this, all channels would stand still once the runtime's budget of a task is
    // used up.
    let run = catch_unwind(AssertUnwindSafe(|| drive.runtime.block_on(unconstrained(world.run()))));
    let trace = world.end();
    let panicked = |panic: Box<dyn std::any::Any + Send>| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    };
    let why = match run {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(why)) => why,
        Err(panic) => format!("panicked: {}", panicked(panic)),
    };
    Err(Breach { why, trace })
}

impl Breach {
    fn is_restless(&self) -> bool {
        self.why == RESTLESS
    }
}

/// Leaves out ops and faults, one after the other, as long as something breaks, in whatever order of events.
fn shrink<B: Backing>(
    mut scenario: Scenario,
    restless: bool,
    drive: &Drive<impl Fn(&Scenario) -> B>,
) -> (Scenario, Breach) {
    let mut rng = SmallRng::seed_from_u64(scenario.schedule);
    let mut breaking = |scenario: Scenario| {
        let schedules = std::iter::once(scenario.schedule).chain((0..TRIES).map(|_| rng.random()));
        let mut tried = schedules.map(|schedule| Scenario { schedule, ..scenario.clone() });
        tried.find(|scenario| attempt(scenario, drive, false).is_err_and(|breach| breach.is_restless() == restless))
    };
    while let Some(smaller) = smaller(&scenario).into_iter().find_map(&mut breaking) {
        scenario = smaller;
    }
    let Err(breach) = attempt(&scenario, drive, true) else { panic!("{scenario:?} broke a promise once only") };
    (scenario, breach)
}

fn smaller(scenario: &Scenario) -> Vec<Scenario> {
    let with = |change: &dyn Fn(&mut Scenario)| {
        let mut smaller = scenario.clone();
        change(&mut smaller);
        smaller
    };
    let mut all = Vec::new();
    if scenario.gateways > 1 {
        all.push(with(&|smaller| smaller.gateways -= 1));
    }
    all.extend(
        (0..scenario.faults.len())
            .map(|index| with(&|smaller| smaller.faults.retain(|fault| *fault != scenario.faults[index]))),
    );
    for index in (0..scenario.ops.len()).rev() {
        all.push(with(&|smaller| drop(smaller.ops.remove(index))));
        let changes = scenario.ops[index].changes.len();
        if changes > 1 {
            all.extend((0..changes).map(|change| with(&|smaller| drop(smaller.ops[index].changes.remove(change)))));
        }
    }
    all
}
