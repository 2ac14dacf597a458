//! Many connections of one user race, each with a first beat that earns the reward: one claim, one event, one reward.
//!
//! Users come in waves. All sockets of a wave are welcomed before the first beat is sent. The beats of one user are
//! sent one after the other, or in turns with those of all other users.

mod event_log;
mod racer;
mod verdict;
mod wave;

use std::time::{Duration, Instant};

use clap::Args;

use super::admin;
use super::load::Load;
use super::served::{ServerOptions, Sort};
use super::target::{Credentials, Tokens, wall_ms};
use event_log::EventLog;
pub use verdict::Race;
use wave::{Course, Order};

/// The rules of the race: both exact, and decided by the first beat.
const USER_RULE: &str = "first-of-day";
const CONTENT_RULE: &str = "first-view";

/// Longer than any race.
const TOKEN_LIFE: Duration = Duration::from_secs(3600);

#[derive(Args, Clone, Copy, Debug)]
pub struct RaceOptions {
    /// Users of --race, each with --racers sockets.
    #[arg(long = "race-users", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub users: u64,
    /// Sockets of each of them.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..=1_000))]
    pub racers: u64,
    /// Users that race at the same time.
    #[arg(long = "race-wave", default_value_t = 250, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub wave: u64,
}

/// Runs the race on a fresh gateway.
pub async fn run(
    options: &RaceOptions,
    load: &Load,
    servers: &ServerOptions,
    credentials: &Credentials,
) -> Result<Race, String> {
    let mut servers = servers.clone();
    // The given settings come last, and so override these.
    servers.settings.splice(..0, settings(options));
    let served = Sort::Gateway.start(&servers, load, credentials).await?;
    let course = Course {
        target: served.target.clone(),
        tokens: Tokens::new(credentials, TOKEN_LIFE),
        run: wall_ms() / 1000,
        first_mid: load.first_mid,
        racers: options.racers,
    };
    let began = Instant::now();
    let mut race = Race::new(options);
    for (number, first) in (0..options.users).step_by(options.wave as usize).enumerate() {
        let users = first..options.users.min(first + options.wave);
        let order = Order::of_wave(number);
        for result in wave::run(&course, users, order).await? {
            race.note(&result);
        }
        if number % 10 == 9 {
            eprintln!("{:>7} users have raced after {:.0} s", race.users, began.elapsed().as_secs_f64());
        }
    }
    let gateway = served.admin.as_ref().ok_or("the gateway has no admin listener")?;
    let control = served.control.as_ref().ok_or("the gateway has no control listener")?;
    let log = EventLog::read(control, race.rewards()).await?;
    let metrics = admin::get(gateway, "/metrics").await?;
    let claims = |rule: &str| {
        let name = format!("heartline_reward_claims_total{{rule=\"{rule}\"}}");
        admin::metric(&metrics, &name).map_or(0, |count| count as u64)
    };
    race.judge(&log, claims);
    race.seconds = began.elapsed().as_secs_f64();
    Ok(race)
}

fn settings(options: &RaceOptions) -> Vec<(String, String)> {
    let rule = |id: &str, per: &str| {
        format!("{{ id = \"{id}\", per = \"{per}\", kinds = [], watched = \"0s\", exact = true }}")
    };
    let rules = format!("[{}, {}]", rule(USER_RULE, "user"), rule(CONTENT_RULE, "content"));
    let settings = [
        ("rewards.rules", rules),
        ("limits.connections_per_user", options.racers.to_string()),
        ("limits.upgrades_per_second", "0".to_owned()),
        ("limits.upgrades_per_second_per_address", "0".to_owned()),
    ];
    settings.map(|(name, value)| (name.to_owned(), value)).into()
}
