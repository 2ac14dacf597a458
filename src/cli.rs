//! The command line.

pub mod clock;
pub mod conformance;
pub mod events;
pub mod gateway;
pub mod health;
pub mod history;
pub mod rebuild;
pub mod reload;
pub mod subscribers;
pub mod transfer;
pub mod user;

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};

use crate::app::role::Role;
use crate::cli::conformance::ConformanceArgs;
use crate::cli::history::HistoryArgs;
use crate::cli::rebuild::RebuildArgs;
use crate::cli::subscribers::SubscribersCommand;
use crate::cli::transfer::export::ExportArgs;
use crate::cli::transfer::import::ImportArgs;
use edge::auth::Scopes;
use edge::config::ControlScope;
use model::event_topic::EventTopic;
use model::ids::UserId;
use model::user_name::UserName;

/// A WebSocket gateway that stores playback positions.
#[derive(Debug, Parser)]
#[command(name = "heartline", version)]
pub struct Cli {
    /// The command; `serve` if none is given.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// TOML file with the settings that differ from the defaults.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the gateway until SIGTERM or SIGINT (default).
    Serve {
        /// Which parts this process runs.
        #[arg(long, value_enum, default_value_t)]
        role: Role,
        /// Make the settings that all gateways on one Redis must have alike (such as store.retention) those of this
        /// process. Gateways with others drain and end. For one start only.
        #[arg(long)]
        accept_settings: bool,
    },
    /// Prepare a new Redis (redis.url): write the keys that identify it as this deployment's. Run it once. Safe to
    /// re-run; never overwrites existing keys.
    Init,
    /// After Redis was lost: prepare the empty Redis for a new deployment, whose users are read from the history store when
    /// they come back. Safe to re-run after an interruption. See docs/history.md, "A lost Redis".
    Rebuild(RebuildArgs),
    /// Print a token for a user or a service, signed with the gateway's key. Never makes a key.
    Token {
        /// User id.
        #[arg(long, required_unless_present_any = ["service", "sub"])]
        mid: Option<u64>,
        /// Name of the user, where users have names (auth.subjects = "any").
        #[arg(long, value_name = "NAME", conflicts_with = "mid")]
        sub: Option<UserName>,
        /// Name of a service that calls over gRPC or the control listener, instead of a user.
        #[arg(long, value_name = "NAME", conflicts_with_all = ["mid", "sub"], requires = "scope")]
        service: Option<String>,
        /// A permission of the service. May be given several times.
        #[arg(long, conflicts_with_all = ["mid", "sub"], requires = "service", value_parser = scopes())]
        scope: Vec<String>,
        /// How long the token is valid, such as 30s, 1h or 7d.
        #[arg(long, default_value = "1h")]
        ttl: humantime::Duration,
    },
    /// Print an event log of a running gateway, one JSON line per event.
    Events {
        /// Which log: rewards and thresholds of counters, or positions and what was forgotten.
        #[arg(long, value_name = "LOG", default_value = "rewards", value_parser = topics())]
        log: EventTopic,
        /// Keep printing new events, also after a restart of the gateway, until SIGINT or SIGTERM.
        #[arg(long)]
        follow: bool,
        /// Start after this offset; 0 = the oldest event in the log.
        #[arg(long, value_name = "OFFSET", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..1 << 53))]
        after: u64,
        /// Stop after this many events.
        #[arg(long, value_name = "COUNT")]
        limit: Option<NonZeroU64>,
    },
    /// Connect to the Redis of redis.url: print what is found, what is missing and what to do, a line each. Exits with 69
    /// if it cannot be used. Writes nothing, and does not contact other servers.
    Doctor,
    /// Ask the gateway on this machine whether it is ready: exit code 0, or 1 and one line that says why not.
    Health,
    /// Print what the gateway on this machine knows of a user: connections, recording, claims, newest records.
    User(AnyUserArgs),
    /// Show and change the subscribers of events, on the gateway of this machine.
    #[command(subcommand)]
    Subscribers(SubscribersCommand),
    /// Print what the history store (history.store) has of a user, one JSON line per content, or repair it.
    History(HistoryArgs),
    /// Import records, one JSON object a line, over gRPC. A new call resumes what was killed. Exits with 65 if lines
    /// were refused.
    Import(ImportArgs),
    /// Export the records of all users, one JSON object a line, over gRPC. A new call resumes what was killed.
    Export(ExportArgs),
    /// Print the wall clock and the clock of the gateway on this machine, and whether a step of the wall clock is in
    /// doubt.
    Clock {
        /// The wall clock is right now: end the doubt, and resume commits.
        #[arg(long)]
        accept: bool,
    },
    /// Have the gateway on this machine read its keys, certificates and country file again, as at SIGHUP.
    Reload,
    /// Print the hash that stands for a user in the log. Needs log.mid_key.
    Hash(UserArgs),
    /// Check the settings, files and addresses, and print the effective settings with secrets masked. Reports all
    /// problems. Also warns of settings that work and may not be meant.
    CheckConfig {
        /// The role of the process that will have these settings.
        #[arg(long, value_enum, default_value_t)]
        role: Role,
        /// Exit with 78 if there are warnings.
        #[arg(long)]
        strict: bool,
    },
    /// Print all settings with their defaults and explanations.
    DefaultConfig,
    /// Test a client: serve a gateway that misbehaves, tell the client's harness what to do, and judge what the client
    /// sends, rule by rule. Exits with 1 unless all rules were tried and passed. See docs/conformance.md.
    Conformance(ConformanceArgs),
}

/// A user, with or without the name of the option.
#[derive(Args, Debug)]
pub struct UserArgs {
    /// The user's id.
    #[arg(value_name = "MID", required_unless_present = "named")]
    id: Option<u64>,
    /// The same.
    #[arg(long = "mid", value_name = "MID", conflicts_with = "id")]
    named: Option<u64>,
}

impl UserArgs {
    pub fn user(&self) -> UserId {
        UserId(self.id.or(self.named).unwrap_or_default())
    }
}

/// A user, by number or by name.
#[derive(Args, Debug)]
pub struct AnyUserArgs {
    /// The user's id.
    #[arg(value_name = "MID", required_unless_present_any = ["named", "sub"])]
    id: Option<u64>,
    /// The same.
    #[arg(long = "mid", value_name = "MID", conflicts_with = "id")]
    named: Option<u64>,
    /// The user's name, where users have names (auth.subjects = "any").
    #[arg(long, value_name = "NAME", conflicts_with_all = ["id", "named"])]
    sub: Option<UserName>,
}

impl AnyUserArgs {
    /// As in a query of the control listener.
    pub fn query(&self) -> String {
        match &self.sub {
            Some(name) => format!("sub={}", name.encoded()),
            None => format!("mid={}", self.id.or(self.named).unwrap_or_default()),
        }
    }
}

fn topics() -> impl TypedValueParser<Value = EventTopic> {
    let names = PossibleValuesParser::new(EventTopic::ALL.map(EventTopic::name));
    names.map(|name| EventTopic::of_name(&name).expect("it is one of the names"))
}

fn scopes() -> PossibleValuesParser {
    let of_grpc = [Scopes::READ, Scopes::WRITE, Scopes::INTERNAL];
    PossibleValuesParser::new(of_grpc.into_iter().chain(ControlScope::ALL.map(ControlScope::word)))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_parses() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_token_is_valid_for_an_hour_by_default() {
        let ttl_seconds = |line: &[&str]| match Cli::try_parse_from(line).expect("a command line").command {
            Some(Command::Token { mid: Some(42), ttl, .. }) => ttl.as_secs(),
            other => panic!("not a token for 42: {other:?}"),
        };
        assert_eq!(ttl_seconds(&["heartline", "token", "--mid", "42"]), 3_600);
        assert_eq!(ttl_seconds(&["heartline", "token", "--mid", "42", "--ttl", "90s"]), 90);
    }

    #[test]
    fn a_token_is_for_a_user_or_for_a_service_with_scopes() {
        let is_taken = |line: &str| Cli::try_parse_from(line.split(' ')).is_ok();
        assert!(is_taken("heartline token --service ranker --scope heartline.read --scope heartline.write"));
        assert!(is_taken("heartline token --service shop --scope heartline.counters"));
        assert!(is_taken("heartline token --sub auth0|6405"));
        for bad in [
            "heartline token",
            "heartline token --service ranker",
            "heartline token --service ranker --scope read",
            "heartline token --mid 42 --scope heartline.read",
            "heartline token --mid 42 --sub a",
            "heartline token --sub a --service ranker --scope heartline.read",
            "heartline token --mid 42 --service ranker --scope heartline.read",
        ] {
            assert!(!is_taken(bad), "{bad}");
        }
    }

    #[test]
    fn a_user_is_named_with_or_without_the_option() {
        for command in ["user", "hash"] {
            let user = |line: &str| match Cli::try_parse_from(line.split(' ')).ok()?.command {
                Some(Command::User(args)) => Some(args.query()),
                Some(Command::Hash(args)) => Some(format!("mid={}", args.user().0)),
                other => panic!("another command: {other:?}"),
            };
            for good in ["42", "--mid 42", "--mid=42"] {
                assert_eq!(user(&format!("heartline {command} {good}")), Some("mid=42".to_owned()), "{command} {good}");
            }
            for bad in ["--mid", "42 --mid 42", "42 43", "--mid x"] {
                assert_eq!(user(&format!("heartline {command} {bad}")), None, "{command} {bad}");
            }
            assert!(Cli::try_parse_from(["heartline", command]).is_err());
        }
        let query = |line: &[&str]| match Cli::try_parse_from(line).ok()?.command {
            Some(Command::User(args)) => Some(args.query()),
            other => panic!("another command: {other:?}"),
        };
        assert_eq!(query(&["heartline", "user", "--sub", "auth0|6405"]).as_deref(), Some("sub=auth0%7C6405"));
        for bad in [&["heartline", "user", "--sub", ""][..], &["heartline", "user", "42", "--sub", "a"]] {
            assert_eq!(query(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_file_may_stand_before_or_after_the_command_or_alone() {
        for line in [&["heartline", "--config", "a.toml", "serve"][..], &["heartline", "serve", "--config", "a.toml"]] {
            let cli = Cli::try_parse_from(line).expect("a command line");
            assert_eq!(cli.config, Some(PathBuf::from("a.toml")));
            assert!(matches!(cli.command, Some(Command::Serve { role: Role::All, accept_settings: false })));
        }
        assert!(Cli::try_parse_from(["heartline"]).expect("a command line").command.is_none());
        assert!(Cli::try_parse_from(["heartline", "--config", "a.toml"]).expect("a command line").command.is_none());
    }
}
