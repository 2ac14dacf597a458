//! The command line.

pub mod events;

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// A WebSocket gateway that keeps where everybody is in everything they watch.
#[derive(Debug, Parser)]
#[command(name = "heartline", version)]
pub struct Cli {
    /// What to do; `serve` when nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// A TOML file of settings that differ from the defaults.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve until SIGTERM or SIGINT. This is the default.
    Serve,
    /// Prepare the new Redis of redis.url, once: write the keys by which every gateway knows that it is this deployment's.
    /// Goes on with what was broken off, and changes nothing that is there.
    Init,
    /// Print a token for a user, signed with the key that `serve` would use.
    Token {
        /// The user's id.
        #[arg(long)]
        mid: u64,
        /// How long the token is good for, such as 30s, 1h or 7d.
        #[arg(long, default_value = "1h")]
        ttl: humantime::Duration,
    },
    /// Print the events of a running gateway's log, each as one line of JSON.
    Events {
        /// Go on with those that come, also when the gateway is restarted, until SIGINT or SIGTERM.
        #[arg(long)]
        follow: bool,
        /// Begin behind this offset; 0 is the oldest event that is kept.
        #[arg(long, value_name = "OFFSET", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..1 << 53))]
        after: u64,
        /// End after so many events.
        #[arg(long, value_name = "COUNT")]
        limit: Option<NonZeroU64>,
    },
    /// Check the settings and print them as they would hold, secrets masked.
    CheckConfig,
    /// Print every setting with its default and what it means.
    DefaultConfig,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn it_parses() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_token_is_good_for_an_hour_unless_said_otherwise() {
        let ttl_seconds = |line: &[&str]| match Cli::try_parse_from(line).expect("a command line").command {
            Some(Command::Token { mid: 42, ttl }) => ttl.as_secs(),
            other => panic!("not a token for 42: {other:?}"),
        };
        assert_eq!(ttl_seconds(&["heartline", "token", "--mid", "42"]), 3_600);
        assert_eq!(ttl_seconds(&["heartline", "token", "--mid", "42", "--ttl", "90s"]), 90);
    }

    #[test]
    fn the_file_may_stand_before_or_after_the_command_or_alone() {
        for line in [&["heartline", "--config", "a.toml", "serve"][..], &["heartline", "serve", "--config", "a.toml"]] {
            let cli = Cli::try_parse_from(line).expect("a command line");
            assert_eq!(cli.config, Some(PathBuf::from("a.toml")));
            assert!(matches!(cli.command, Some(Command::Serve)));
        }
        assert!(Cli::try_parse_from(["heartline"]).expect("a command line").command.is_none());
        assert!(Cli::try_parse_from(["heartline", "--config", "a.toml"]).expect("a command line").command.is_none());
    }
}
