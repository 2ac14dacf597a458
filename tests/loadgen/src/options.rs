//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use heartline::edge::auth::SECRET_BYTES_MIN;

use super::attack::{Attacks, SiegeOptions};
use super::dice::Dice;
use super::load::{Load, positive};
use super::meter::Watched;
use super::race::RaceOptions;
use super::served::ServerOptions;
use super::target::{Credentials, Target, wall_ms};

/// Loads a Heartline gateway as honest clients would, and says what that cost.
///
/// Without --url it starts a gateway of its own, on loopback and in a temporary directory. Progress goes to standard
/// error; the last line, on standard output, is JSON.
#[derive(Debug, Parser)]
#[command(name = "loadgen", version, args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    pub role: Option<Role>,
    /// The server: ws://HOST:PORT, with a path if it is not /v1/connect. May be repeated: sockets take them in turns.
    #[arg(long, requires = "key", conflicts_with = "baseline")]
    pub url: Vec<String>,
    /// Load a server that is not on this machine.
    #[arg(long, requires = "url")]
    pub remote: bool,
    #[command(flatten)]
    pub key: Key,
    #[command(flatten)]
    pub load: Load,
    /// Gateways to start without --url: each holds as many sockets as it may open files.
    #[arg(long, default_value_t = 1, conflicts_with_all = ["url", "baseline"], value_parser = clap::value_parser!(u32).range(1..=100))]
    pub gateways: u32,
    /// A process to measure; processes of one name are measured together. May be repeated; gateways started here are
    /// measured in any case.
    #[arg(long = "pid", value_name = "NAME=PID")]
    pub watched: Vec<Watched>,
    /// The time from the load until the memory is measured after it.
    #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
    pub settle: Duration,
    #[command(flatten)]
    pub servers: ServerOptions,
    /// Put the same load, at the same rate for each socket, on a crowd of so many and one gateway first, and compare
    /// what a socket costs. More than a fifth more ends with exit code 1.
    #[arg(long, value_name = "SOCKETS", conflicts_with_all = ["url", "watched", "ramp", "baseline", "attack"], value_parser = clap::value_parser!(u64).range(1..))]
    pub compare_with: Option<u64>,
    /// Raise the rate from --rate on, until beats are lost or the 99th percentile exceeds 100 ms.
    #[arg(long, conflicts_with = "baseline")]
    pub ramp: bool,
    /// The factor from one step of --ramp to the next.
    #[arg(long, default_value_t = 1.25)]
    pub ramp_factor: f64,
    /// Put the same load on a bare echo server, a naive gateway and the gateway, in turns.
    #[arg(long, conflicts_with = "watched")]
    pub baseline: bool,
    /// Rates for --baseline in place of --rate, one comparison after the other: numbers with commas between them.
    #[arg(long, value_delimiter = ',', requires = "baseline", conflicts_with = "rate", value_parser = positive)]
    pub rates: Vec<f64>,
    /// Attack a fresh gateway that serves this load, and judge what became of both: names with commas between them, or
    /// all. A bar that is missed ends with exit code 1.
    #[arg(long, value_name = "NAMES", conflicts_with_all = ["url", "gateways", "watched", "ramp", "baseline", "settle"])]
    pub attack: Option<Attacks>,
    #[command(flatten)]
    pub siege: SiegeOptions,
    /// Let many sockets of each user race on a fresh gateway, each with the first beat that is enough, and judge what
    /// was claimed. Of the load only --first-mid counts. Anything but one reward each ends with exit code 1.
    #[arg(long, conflicts_with_all = ["url", "gateways", "watched", "ramp", "baseline", "attack", "compare_with", "settle"])]
    pub race: bool,
    #[command(flatten)]
    pub course: RaceOptions,
    /// Put the same load on a gateway without rewards, and on ones with them for clients with and without flags, side
    /// by side. CPU for each ack beyond 1.05 and 1.25 times that without rewards ends with exit code 1.
    #[arg(long, conflicts_with_all = ["url", "gateways", "watched", "ramp", "baseline", "attack", "compare_with", "settle", "race"])]
    pub compare_rewards: bool,
    /// The number of rounds in which each contender takes its turn.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
}

/// The key that the server believes.
#[derive(Args, Clone, Debug)]
#[group(multiple = true)]
pub struct Key {
    /// Its HS256 key (auth.hs256_secret).
    #[arg(long, env = "HEARTLINE__AUTH__HS256_SECRET", hide_env_values = true, group = "key")]
    pub secret: Option<String>,
    /// The file that holds the key, such as development-key in the data directory.
    #[arg(long, conflicts_with = "secret", value_name = "FILE", group = "key")]
    pub secret_file: Option<PathBuf>,
    /// `aud` of the tokens, if the server wants one.
    #[arg(long, default_value = "")]
    pub audience: String,
    /// `iss` of the tokens, if the server wants one.
    #[arg(long, default_value = "")]
    pub issuer: String,
}

/// The roles in which this program starts itself.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum Role {
    #[command(hide = true)]
    Attacker,
    #[command(hide = true)]
    Crowds,
    #[command(hide = true)]
    Echo,
    #[command(hide = true)]
    Naive,
}

impl Options {
    /// The servers to load; empty: they are started here.
    pub fn targets(&self) -> Result<Vec<Target>, String> {
        let targets = self.url.iter().map(|url| Target::parse(url)).collect::<Result<Vec<_>, _>>()?;
        match targets.iter().find(|target| !self.remote && !target.address.ip().is_loopback()) {
            Some(far) => Err(format!("{} is not this machine; say --remote if that is meant", far.address)),
            None => Ok(targets),
        }
    }
}

impl Key {
    /// The credentials. For a server started here, any key will do.
    pub fn credentials(&self) -> Result<Credentials, String> {
        let secret = match (&self.secret, &self.secret_file) {
            (Some(secret), _) => secret.clone(),
            (None, Some(file)) => {
                let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
                text.trim_end().to_owned()
            }
            (None, None) => {
                let mut dice = Dice::new(wall_ms());
                format!("{:016x}{:016x}", dice.roll(), dice.roll())
            }
        };
        if secret.len() < SECRET_BYTES_MIN {
            return Err(format!("the key must have at least {SECRET_BYTES_MIN} bytes"));
        }
        Ok(Credentials { secret, audience: self.audience.clone(), issuer: self.issuer.clone() })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_of_the_load_generator_parses() {
        Options::command().debug_assert();
        let line = ["loadgen", "--url", "ws://127.0.0.1:7700", "--secret", "x", "--verify", "--pid", "gateway=1"];
        let options = Options::try_parse_from(line).expect("a command line");
        assert_eq!((options.load.verify, options.watched.len()), (Some(1.0), 1));
        assert!(Options::try_parse_from(["loadgen", "--baseline", "--ramp"]).is_err());
        assert!(Options::try_parse_from(["loadgen", "--new-contents", "1.1"]).is_err());
    }

    #[test]
    fn another_machine_is_loaded_only_with_remote() {
        let line = ["loadgen", "--secret", "x", "--url", "ws://192.0.2.1:7700"];
        let mut options = Options::try_parse_from(line).expect("a command line");
        assert!(options.targets().is_err());
        options.remote = true;
        assert!(options.targets().is_ok());
    }
}
