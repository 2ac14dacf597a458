//! Reads the command, runs it, and prints one line if it fails.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use heartline::app;
use heartline::app::LookError;
use heartline::app::Serving;
use heartline::app::rebuild::RebuildError;
use heartline::app::role::Role;
use heartline::cli::clock as clock_command;
use heartline::cli::conformance::{self as conformance_command, ConformanceError};
use heartline::cli::events::{self, EventsOptions};
use heartline::cli::gateway::GatewayError;
use heartline::cli::health;
use heartline::cli::history;
use heartline::cli::rebuild::{self as rebuild_command, RebuildArgs};
use heartline::cli::reload;
use heartline::cli::subscribers;
use heartline::cli::transfer::TransferError;
use heartline::cli::transfer::export::export;
use heartline::cli::transfer::import::import;
use heartline::cli::user;
use heartline::cli::{Cli, Command};
use heartline::config::{self, Checked, Config, ConfigError};
use heartline::domain::rewards::memory::estimate;
use heartline::domain::time::clock;
use heartline::edge::auth::key::SIGNS_NOTHING;
use heartline::edge::auth::{Issued, KeptSecretError, SigningKey};
use heartline::edge::listener::install_crypto_provider;
use heartline::edge::shutdown::Signals;
use heartline::model::ids::UserId;
use heartline::model::shard::Shards;
use heartline::storage::hot_store::config::Backend;

/// jemalloc. One thread frees memory that another has allocated: beats go from edges to commits, answers the other way.
/// It needs a tenth less memory for an idle socket than glibc's allocator.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    install_crypto_provider();
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_said() {
                eprint!("{}", failure.lines());
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let file = cli.config.as_deref();
    match cli.command.unwrap_or(Command::Serve { role: Role::All, accept_settings: false }) {
        Command::Serve { role, accept_settings } => serve(file, role, accept_settings),
        Command::Init => init(&Config::load(file)?),
        Command::Rebuild(args) => rebuild(&Config::load(file)?, &args),
        Command::Token { mid, sub, service, scope, ttl } => {
            let scope = scope.join(" ");
            let now = clock::wall();
            token(&Config::load(file)?, |key| match (&service, &sub) {
                (Some(name), _) => key.issue_service(name, &scope, *ttl, now),
                (None, Some(name)) => key.issue_named(name, *ttl, now),
                (None, None) => key.issue(UserId(mid.unwrap_or_default()), *ttl, now),
            })
        }
        Command::Events { log, follow, after, limit } => {
            Ok(events::print(&Config::load(file)?, EventsOptions { topic: log, after, limit, follow })?)
        }
        Command::Doctor => doctor(&Config::load(file)?),
        Command::Health => health::check(&Config::load(file)?).map_err(Failure::NotReady),
        Command::User(args) => print(&user::report(&Config::load(file)?, &args.query())?),
        Command::Subscribers(command) => print(&subscribers::run(&Config::load(file)?, command)?),
        Command::History(args) => print(&history::run(&Config::load(file)?, &args)?),
        Command::Import(args) => {
            let done = import(&Config::load(file)?, &args)?;
            print(&done.text)?;
            if done.is_whole { Ok(()) } else { Err(Failure::LinesRefused) }
        }
        Command::Export(args) => {
            eprint!("{}", export(&Config::load(file)?, &args)?);
            Ok(())
        }
        Command::Clock { accept } => print(&clock_command::report(&Config::load(file)?, accept)?),
        Command::Reload => print(&reload::run(&Config::load(file)?)?),
        Command::Hash(args) => hash(&Config::load(file)?, args.user()),
        Command::CheckConfig { role, strict } => check_config(file, role, strict),
        Command::DefaultConfig => print(config::DEFAULTS),
        Command::Conformance(args) => conformance_command::run(&args).map_err(Failure::Conformance),
    }
}

fn serve(file: Option<&Path>, role: Role, accept_settings: bool) -> Result<(), Failure> {
    let signals = Signals::listen().map_err(Failure::Signals)?;
    let checked = config::check(file);
    let warnings = warnings(&checked);
    let config = checked.good()?;
    let log = config.log.start().map_err(Failure::Log)?;
    signals.before_exit({
        let log = log.clone();
        move || log.write_last_lines()
    });
    let serving = Serving { role, accept_settings, warnings, signals };
    let served = app::serve(config, serving, &log).map_err(Failure::Serve);
    if let Err(failure) = &served {
        log.error(&failure.lines());
    }
    log.write_last_lines();
    served
}

/// The warnings about the settings alone and about the environment.
fn warnings(checked: &Checked) -> Vec<String> {
    config::lookalikes().into_iter().chain(checked.warnings.iter().map(ToString::to_string)).collect()
}

fn init(config: &Config) -> Result<(), Failure> {
    if config.store.hot_store != Backend::Redis {
        return Err(Failure::NothingToPrepare);
    }
    let log = config.log.start().map_err(Failure::Log)?;
    let prepared = app::fleet::prepare(config).map_err(Failure::Prepare);
    log.write_last_lines();
    print(&format!("{}\n", prepared?))
}

fn doctor(config: &Config) -> Result<(), Failure> {
    let found = app::fleet::examine(config);
    print(&found.text)?;
    if found.is_well { Ok(()) } else { Err(Failure::Unwell) }
}

fn rebuild(config: &Config, args: &RebuildArgs) -> Result<(), Failure> {
    let log = config.log.start().map_err(Failure::Log)?;
    let rebuilt = rebuild_command::run(config, args);
    log.write_last_lines();
    Ok(rebuilt?)
}

fn check_config(file: Option<&Path>, role: Role, strict: bool) -> Result<(), Failure> {
    let checked = config::check(file);
    let is_broken = |setting: &str| checked.is_broken(setting);
    let found = checked.config.as_ref().map(|config| app::check::check(config, role, is_broken)).unwrap_or_default();
    let warnings: Vec<_> = warnings(&checked).into_iter().chain(found.warnings).collect();
    for line in &warnings {
        eprintln!("heartline: warning: {line}");
    }
    let faults: Vec<_> = checked.problems.iter().map(ToString::to_string).chain(found.faults).collect();
    let Some(config) = checked.config.as_ref().filter(|_| faults.is_empty()) else {
        return Err(Failure::Check(faults));
    };
    if strict && !warnings.is_empty() {
        return Err(Failure::Warned);
    }
    let mut text = checked.text();
    text += "\n# Memory that the rewards take:\n";
    for line in estimate::lines(&config.rewards, Shards::DEFAULT, config.store.hot_store == Backend::Embedded) {
        text += &format!("# {line}\n");
    }
    print(&text)
}

fn token(config: &Config, issue: impl FnOnce(&SigningKey) -> Issued) -> Result<(), Failure> {
    let data_dir = &config.store.data_dir;
    if !SigningKey::exists(&config.auth, data_dir) {
        return Err(Failure::NoKey(data_dir.clone()));
    }
    let key = SigningKey::load(&config.auth, data_dir)?.ok_or(Failure::SignsNothing)?;
    print(&format!("{}\n", issue(&key).token))
}

fn hash(config: &Config, user: UserId) -> Result<(), Failure> {
    if config.log.mid_key.is_empty() {
        return Err(Failure::NoHashKey);
    }
    print(&format!("{}\n", config.log.mid_hash().of(user)))
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
    /// One line for each fault.
    #[error("{}", .0.join("\n"))]
    Check(Vec<String>),
    #[error("with --strict, warnings are errors")]
    Warned,
    #[error(transparent)]
    Key(#[from] KeptSecretError),
    #[error("{SIGNS_NOTHING}")]
    SignsNothing,
    #[error(
        "no key to sign with: auth.hs256_secret is empty, and {} has no development key; set auth.hs256_secret to the key \
         of your gateway, or run `heartline serve` once with these settings to make a development key", .0.display()
    )]
    NoKey(PathBuf),
    #[error(transparent)]
    Serve(app::StartError),
    #[error("the log cannot be written: {0}")]
    Log(io::Error),
    #[error("signals cannot be heard: {0}")]
    Signals(io::Error),
    #[error(
        "nothing to prepare: store.hot_store is \"embedded\"; set it to \"redis\" to prepare the Redis of redis.url"
    )]
    NothingToPrepare,
    #[error("Redis cannot be used")]
    Unwell,
    #[error(transparent)]
    Prepare(app::StartError),
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    #[error(transparent)]
    Look(#[from] LookError),
    #[error(transparent)]
    Transfer(#[from] TransferError),
    #[error("some lines were refused")]
    LinesRefused,
    #[error("{0}")]
    NotReady(String),
    #[error("log.mid_key is empty, so each start makes hashes with a new key; set it to compare them")]
    NoHashKey,
    #[error(transparent)]
    Conformance(ConformanceError),
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// For standard error.
    fn lines(&self) -> String {
        self.to_string().lines().map(|line| format!("heartline: {line}\n")).collect()
    }

    /// Whether the log has these lines already. What else writes to standard error would wait for its reader.
    fn is_said(&self) -> bool {
        matches!(self, Failure::Serve(_))
    }

    fn exit_code(&self) -> u8 {
        match self {
            Failure::Config(_) | Failure::Check(_) | Failure::Warned | Failure::SignsNothing | Failure::NoKey(_) => 78,
            Failure::NothingToPrepare | Failure::NoHashKey => 78,
            Failure::NotReady(_) => 1,
            Failure::Unwell => 69,
            Failure::Key(_) => 73,
            Failure::Prepare(error) | Failure::Serve(error) => error.exit_code(),
            Failure::Log(_) | Failure::Signals(_) => 71,
            Failure::Rebuild(error) => error.exit_code(),
            Failure::Gateway(error) => error.exit_code(),
            Failure::Look(error) => error.exit_code(),
            Failure::Transfer(error) => error.exit_code(),
            Failure::Conformance(error) => error.exit_code(),
            Failure::LinesRefused => 65,
            Failure::Output(_) => 74,
        }
    }
}
