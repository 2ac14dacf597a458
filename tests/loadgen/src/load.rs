//! The options of a load, which coordinator and crowds share.

use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::end;
use super::viewer::Habits;

#[derive(Args, Clone, Debug, Deserialize, Serialize)]
pub struct Load {
    /// Sockets in all, each of a user of its own.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub sockets: u64,
    /// Beats a second in all, sent when they are due whether or not the server keeps up.
    #[arg(long, default_value = "10000", value_parser = positive)]
    pub rate: f64,
    /// The measured duration.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    pub duration: Duration,
    /// Go on until standard input ends, however long that takes.
    #[arg(long, conflicts_with_all = ["duration", "ramp", "baseline", "attack", "compare_with", "race", "compare_rewards"])]
    pub until_stdin_ends: bool,
    /// The duration of the same load before the measurement.
    #[arg(long, default_value = "3s", value_parser = humantime::parse_duration)]
    pub warm_up: Duration,
    /// The longest wait for acks after the last beat.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    pub drain: Duration,
    /// Share of the beats that begin a content, and so store a new row.
    #[arg(long, default_value = "0.1", value_parser = share)]
    pub new_contents: f64,
    /// Share of the beats that carry the flag of a day long past.
    #[arg(long, default_value = "0", value_parser = share)]
    pub stale_flags: f64,
    /// Send no flags at all: a client that does not keep the server's flags.
    #[arg(long)]
    pub no_flags: bool,
    /// Share of the beats that repeat the one before (same `at` and session).
    #[arg(long, default_value = "0", value_parser = share)]
    pub resends: f64,
    /// Beats of one socket that may be unacked. More than one is for --ack-delay.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub in_flight: u32,
    /// The longest delay of acks for steady beats, requested in a hello.
    #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
    pub ack_delay: Duration,
    /// Sockets opened a second, in all.
    #[arg(long, default_value = "4000", value_parser = positive)]
    pub connect_rate: f64,
    /// The attempts of a socket to connect before the run is given up.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub connect_tries: u32,
    /// The longest time of one attempt, up to the welcome.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    pub connect_timeout: Duration,
    /// How often each socket connects, is welcomed and closes before it stays.
    #[arg(long, default_value_t = 0)]
    pub churn: u32,
    /// Users who take turns on each socket, one at a time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub users_per_socket: u32,
    /// The average visit of a user, until the socket closes and another user's socket opens in its place; 0 =
    /// permanent.
    #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
    pub visit: Duration,
    /// Connect again when a socket is lost under load, and resend unacked beats.
    #[arg(long)]
    pub reconnect: bool,
    /// Child processes that hold the sockets; 0 = as many as the limit of open files asks for.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    pub processes: u32,
    /// Threads of each of them.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,
    /// The first user's id; the others follow.
    #[arg(long, default_value_t = 1)]
    pub first_mid: u64,
    /// After the load, read back the acked beats of this share of the users. A missing beat ends with exit code 1.
    #[arg(long, value_name = "SHARE", num_args = 0..=1, default_missing_value = "1", value_parser = share)]
    pub verify: Option<f64>,
    /// Whether latencies are reported for each second, too.
    #[arg(skip)]
    pub by_second: bool,
}

impl Load {
    pub fn habits(&self) -> Habits {
        Habits {
            new_contents: self.new_contents,
            stale_flags: self.stale_flags,
            no_flags: self.no_flags,
            resends: self.resends,
        }
    }

    /// The whole duration, measured or not, unless the load is ended before.
    pub fn lasts(&self) -> Duration {
        self.warm_up + if self.until_stdin_ends { end::NEVER } else { self.duration }
    }

    /// The reason why these options cannot work together, if any.
    pub fn complaint(&self) -> Option<&'static str> {
        if self.ack_delay > self.warm_up {
            return Some(
                "--warm-up must not be shorter than --ack-delay, or acks of before are counted and others not",
            );
        }
        if self.duration.is_zero() {
            return Some("--duration must not be 0");
        }
        if (self.users_per_socket > 1) == self.visit.is_zero() {
            return Some("--users-per-socket and --visit belong together");
        }
        (self.rate * self.lasts().as_secs_f64() < 1.0)
            .then_some("there is not one beat to send: raise --rate or --duration")
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| format!("{text} is not a number"))?;
    (0.0..=1.0).contains(&share).then_some(share).ok_or_else(|| format!("{text} is not between 0 and 1"))
}

pub fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text} is not a number"))?;
    (number > 0.0 && number <= 1e9).then_some(number).ok_or_else(|| format!("{text} is not above 0"))
}
