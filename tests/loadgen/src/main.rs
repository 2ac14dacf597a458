//! The load generator: any number of honest clients of the gateway.
//!
//! ```text
//! coordinator ── workers ── child process ── crowd, a thread ── members, a socket each
//!      │                                       └ stage: their shared state
//!      ├ served: the gateway, the echo server or the naive gateway, if they are started here
//!      └ attacker
//! ```
//!
//! The coordinator is one of [`measure`], [`ramp`], [`baseline`], [`growth`], [`reward_cost`], [`race`] and [`attack`].
//!
//! The loop is open: the [`schedule`] sets the times of beats, and the latency of a beat that a slow server holds up
//! counts from the time at which it was meant to be sent.

mod admin;
mod answer;
mod attack;
mod baseline;
mod crowd;
mod dial;
mod dice;
mod echo;
mod end;
mod growth;
mod host;
mod latency;
mod ledger;
mod life;
mod link;
mod load;
mod measure;
mod member;
mod message;
mod meter;
mod naive;
mod naive_store;
mod offspring;
mod options;
mod outcome;
mod progress;
mod question;
mod race;
mod ramp;
mod readback;
mod redis_server;
mod reward_cost;
mod schedule;
mod scratch;
mod served;
mod stage;
mod tally;
mod target;
mod text;
mod unacked;
mod viewer;
mod visits;
mod wire;
mod worker;
mod workers;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use baseline::Ring;
use end::End;
use growth::Growth;
use load::Load;
use measure::Run;
use options::{Options, Role};
use outcome::Outcome;
use served::Sort;
use target::{Credentials, Target};

/// Exit codes: an acked beat is missing, or a bar was missed; a wrong command line (as of clap); a run that could not
/// be made; a signal.
const MISSED: u8 = 1;
const USAGE: u8 = 2;
const UNABLE: u8 = 69;
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let options = Options::parse();
    let done = match options.role {
        Some(Role::Attacker) => attack::run().map(|()| 0),
        Some(Role::Crowds) => worker::run().map(|()| 0),
        Some(Role::Echo) => echo::run().map(|()| 0),
        Some(Role::Naive) => naive::run().map(|()| 0),
        None => coordinate(&options),
    };
    ExitCode::from(done.unwrap_or_else(|why| {
        eprintln!("loadgen: {why}");
        UNABLE
    }))
}

fn coordinate(options: &Options) -> Result<u8, String> {
    let cost = options.compare_rewards.then(|| reward_cost::complaint(&options.load, &options.servers)).flatten();
    let wrong = options.load.complaint().or(cost).map(str::to_owned);
    let (targets, credentials) = match (wrong, options.targets(), options.key.credentials()) {
        (None, Ok(targets), Ok(credentials)) => (targets, credentials),
        (Some(why), _, _) | (_, Err(why), _) | (_, _, Err(why)) => {
            eprintln!("loadgen: {why}");
            return Ok(USAGE);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        // Whichever ends first: dropping the future also ends the processes that it started.
        tokio::select! {
            done = perform(options, &targets, &credentials) => done,
            ended = signalled() => ended.map(|()| INTERRUPTED).map_err(|error| error.to_string()),
        }
    })
}

async fn perform(options: &Options, targets: &[Target], credentials: &Credentials) -> Result<u8, String> {
    if let Some(attacks) = &options.attack {
        let siege = attack::lay(attacks, &options.siege, &options.load, &options.servers, credentials).await?;
        print(&siege)?;
        return Ok(if siege.passed { 0 } else { MISSED });
    }
    if options.race {
        let race = race::run(&options.course, &options.load, &options.servers, credentials).await?;
        print(&race)?;
        return Ok(if race.passed { 0 } else { MISSED });
    }
    if options.compare_rewards {
        let cost = reward_cost::run(&options.load, options.rounds, &options.servers, credentials).await?;
        eprint!("{cost}");
        print(&cost)?;
        return Ok(if cost.passed && cost.missing() == 0 { 0 } else { MISSED });
    }
    if let Some(sockets) = options.compare_with {
        let few = one(options, 1, targets, credentials, growth::smaller(&options.load, sockets)).await?;
        let many = one(options, options.gateways, targets, credentials, options.load.clone()).await?;
        let growth = Growth::new(few, many);
        eprint!("{growth}");
        print(&growth)?;
        return Ok(if growth.passed { 0 } else { MISSED });
    }
    let run = |load: Load| one(options, options.gateways, targets, credentials, load);
    let missing = if options.baseline {
        let ring = Ring { rounds: options.rounds, servers: &options.servers, credentials, settle: options.settle };
        let rates = if options.rates.is_empty() { &[options.load.rate][..] } else { &options.rates };
        let baseline = ring.run(&options.load, rates).await?;
        eprint!("{}", baseline.tables());
        print(&baseline)?;
        baseline.missing()
    } else if options.ramp {
        let ramp = ramp::climb(&options.load, options.ramp_factor, run).await?;
        print(&ramp)?;
        ramp.run.map_or(0, |run| run.missing())
    } else {
        let outcome = run(options.load.clone()).await?;
        print(&outcome)?;
        outcome.missing()
    };
    Ok(if missing > 0 { MISSED } else { 0 })
}

/// One run, on the named servers or on fresh gateways.
async fn one(
    options: &Options,
    gateways: u32,
    targets: &[Target],
    credentials: &Credentials,
    load: Load,
) -> Result<Outcome, String> {
    let mut started = Vec::new();
    if targets.is_empty() {
        for _ in 0..gateways {
            started.push(Sort::Gateway.start(&options.servers, &load, credentials).await?);
        }
    }
    let watched: Vec<_> =
        options.watched.iter().chain(started.iter().flat_map(|served| &served.watched)).cloned().collect();
    let targets: Vec<_> = targets.iter().chain(started.iter().map(|served| &served.target)).cloned().collect();
    let end = load.until_stdin_ends.then(End::of_standard_input);
    Run { load: &load, targets: &targets, credentials, watched: &watched, settle: options.settle, begins: None, end }
        .measure()
        .await
}

fn print(found: &impl Serialize) -> Result<(), String> {
    let line = serde_json::to_string(found).map_err(|error| error.to_string())?;
    println!("{line}");
    Ok(())
}

async fn signalled() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
        _ = hang_up.recv() => Ok(()),
    }
}
