//! Logs and [`metrics`], for operators.
//!
//! No token and no user id is ever logged: users appear as [`MidHash`] makes them, tokens not at all.

pub mod build;
pub mod log_writer;
pub mod metrics;
mod panics;
mod process;

use std::hash::Hasher;
use std::io;

use serde::Deserialize;
use siphasher::sip128::{Hasher128, SipHasher24};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::{Registry, fmt};

use edge::connection::connection_log;
use log_writer::LogWriter;
use model::mid_hash::MidHash;
use model::secret::Secret;

/// Each setting is explained, with its default, in `deploy/heartline.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    pub level: Level,
    pub format: Format,
    /// Whether each connection is logged, too.
    pub connections: bool,
    /// Key of the hashes that stand for users; empty = a random one.
    pub mid_key: Secret,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Text,
    Json,
}

impl LogConfig {
    /// Logs to standard error from now on, panics included. Once per process.
    pub fn start(&self) -> io::Result<LogWriter> {
        let log = LogWriter::start(io::stderr(), |missing| {
            tracing::error!(
                event = "log_dropped",
                lines = missing,
                "the log goes on; {missing} lines are missing: standard error was not read"
            );
        })?;
        let (targets, writer) = (self.targets(), log.clone());
        match self.format {
            Format::Text => install(fmt::layer().with_writer(writer).with_ansi(false).with_filter(targets)),
            Format::Json => install(fmt::layer().json().flatten_event(true).with_writer(writer).with_filter(targets)),
        }
        panics::log_panics(&log);
        Ok(log)
    }

    /// The hasher of user ids for the log.
    pub fn mid_hash(&self) -> MidHash {
        if self.mid_key.is_empty() {
            return MidHash::with_key(&rand::random());
        }
        let mut hasher = SipHasher24::new();
        hasher.write(self.mid_key.expose().as_bytes());
        MidHash::with_key(&hasher.finish128().as_bytes())
    }

    /// The level is Heartline's own. Libraries stay at warn: below it some of them log headers and frames.
    fn targets(&self) -> Targets {
        let level = LevelFilter::from(self.level);
        let connections = if self.connections { level } else { level.min(LevelFilter::WARN) };
        Targets::new()
            .with_default(level.min(LevelFilter::WARN))
            .with_target(env!("CARGO_PKG_NAME"), level)
            .with_target(connection_log::TARGET, connections)
    }
}

fn install(layer: impl Layer<Registry> + Send + Sync) {
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))
        .expect("nothing else has begun to log");
}

impl From<Level> for LevelFilter {
    fn from(level: Level) -> Self {
        match level {
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
            Level::Debug => LevelFilter::DEBUG,
            Level::Trace => LevelFilter::TRACE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::UserId;

    fn log(level: Level, mid_key: &str) -> LogConfig {
        LogConfig { level, format: Format::Text, connections: true, mid_key: Secret::new(mid_key.to_owned()) }
    }

    #[test]
    fn libraries_never_log_what_may_hold_a_token() {
        let trace = log(Level::Trace, "").targets();
        assert!(trace.would_enable("heartline::edge", &tracing::Level::TRACE));
        assert!(trace.would_enable("tungstenite", &tracing::Level::WARN));
        assert!(!trace.would_enable("tungstenite::handshake", &tracing::Level::INFO));
        let error = log(Level::Error, "").targets();
        assert!(!error.would_enable("hyper", &tracing::Level::WARN));
    }

    #[test]
    fn lines_of_connections_can_be_turned_off() {
        let enabled = |connections| {
            let log = LogConfig { connections, ..log(Level::Info, "") };
            log.targets().would_enable(connection_log::TARGET, &tracing::Level::INFO)
        };
        assert!(enabled(true) && !enabled(false));
    }

    #[test]
    fn hashes_of_users_are_equal_only_under_the_same_key() {
        let user = UserId(42);
        assert_eq!(log(Level::Info, "one").mid_hash().of(user), log(Level::Info, "one").mid_hash().of(user));
        assert_ne!(log(Level::Info, "one").mid_hash().of(user), log(Level::Info, "two").mid_hash().of(user));
        assert_ne!(log(Level::Info, "").mid_hash().of(user), log(Level::Info, "").mid_hash().of(user));
    }
}
