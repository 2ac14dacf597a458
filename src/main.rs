//! Reads the command, does it, and says in one line what went wrong.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use heartline::app;
use heartline::cli::events::{self, EventsError, Wanted};
use heartline::cli::{Cli, Command};
use heartline::config::{self, Config, ConfigError};
use heartline::domain::clock;
use heartline::domain::rewards::memory::estimate;
use heartline::edge::auth::key::SIGNS_NOTHING;
use heartline::edge::auth::{KeyError, KeySetError, SigningKey, key_set};
use heartline::model::ids::UserId;
use heartline::model::shard::Shards;
use heartline::storage::hot_store::config::Backend;
use heartline::storage::redis::{RedisRefused, prepare};

/// What one thread allocates another frees: beats go from edges to commits, answers the other way. It holds a tenth less for
/// an idle socket than glibc's.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            for line in failure.to_string().lines() {
                eprintln!("heartline: {line}");
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let file = cli.config.as_deref();
    match cli.command.unwrap_or(Command::Serve) {
        Command::Serve => serve(Config::load(file)?),
        Command::Init => init(&Config::load(file)?),
        Command::Token { mid, ttl } => token(&Config::load(file)?, UserId(mid), *ttl),
        Command::Events { follow, after, limit } => {
            let listen = Config::load(file)?.admin.listen;
            Ok(events::print(listen, Wanted { after, limit, follow })?)
        }
        Command::CheckConfig => check_config(file),
        Command::DefaultConfig => print(config::DEFAULTS),
    }
}

fn serve(config: Config) -> Result<(), Failure> {
    config.log.start().expect("nothing else has begun to log");
    Ok(app::serve(config)?)
}

fn init(config: &Config) -> Result<(), Failure> {
    if config.store.hot_store != Backend::Redis {
        return Err(Failure::NothingToPrepare);
    }
    config.log.start().expect("nothing else has begun to log");
    print(&format!("{}\n", prepare::prepare(&config.redis)?))
}

fn check_config(file: Option<&Path>) -> Result<(), Failure> {
    let mut text = config::effective(file).map_err(Failure::Check)?;
    let config = Config::load(file)?;
    if let Some(keys) = config.auth.jwks_file() {
        key_set::load(keys)?;
    }
    text += "\n# What the rewards will take of memory:\n";
    for line in estimate::lines(&config.rewards, Shards::DEFAULT, config.store.hot_store == Backend::Embedded) {
        text += &format!("# {line}\n");
    }
    print(&text)
}

fn token(config: &Config, user: UserId, ttl: Duration) -> Result<(), Failure> {
    let key = SigningKey::load(&config.auth, &config.store.data_dir)?.ok_or(Failure::SignsNothing)?;
    print(&format!("{}\n", key.issue(user, ttl, clock::wall()).token))
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    Ok(out.write_all(text.as_bytes()).and_then(|()| out.flush())?)
}

/// Why the process ends, with a code of sysexits.h for each sort of reason. A wrong command line ends with 2 before.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Whoever asks what is wrong is told all of it, one line each.
    #[error("{}", lines(.0))]
    Check(ConfigError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    KeySet(#[from] KeySetError),
    #[error("{SIGNS_NOTHING}")]
    SignsNothing,
    #[error(transparent)]
    Serve(#[from] app::StartError),
    #[error(
        "store.hot_store is \"embedded\", which needs no preparing; set it to \"redis\" to prepare the Redis of redis.url"
    )]
    NothingToPrepare,
    #[error(transparent)]
    Redis(#[from] RedisRefused),
    #[error(transparent)]
    Events(#[from] EventsError),
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    fn exit_code(&self) -> u8 {
        match self {
            Failure::Config(_) | Failure::Check(_) | Failure::KeySet(_) | Failure::SignsNothing => 78,
            Failure::NothingToPrepare => 78,
            Failure::Redis(refused) => refused.exit_code(),
            Failure::Key(_) => 73,
            Failure::Serve(error) => error.exit_code(),
            Failure::Events(error) => error.exit_code(),
            Failure::Output(_) => 74,
        }
    }
}

fn lines(error: &ConfigError) -> String {
    error.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
