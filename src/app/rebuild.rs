//! The options, the progress and the errors of `heartline rebuild`.

use super::error::StartError;
use storage::event_bus::BusError;

/// Why a hot store is not rebuilt. Each in one line that says how to fix it.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("{0}; or give it up with --force")]
    NotYet(String),
    #[error("Kafka cannot be read: {0}; run heartline rebuild again")]
    Bus(#[from] BusError),
}

impl RebuildError {
    /// Codes of `sysexits.h`.
    pub fn exit_code(&self) -> u8 {
        match self {
            RebuildError::Start(error) => error.exit_code(),
            RebuildError::NotYet(_) => 75,
            RebuildError::Bus(_) => 69,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct RebuildOptions {
    /// Goes on where something is lost by it.
    pub force: bool,
    /// Looks, and changes nothing.
    pub dry_run: bool,
}

/// How far a step is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A line that stays.
    Line(String),
    /// A count of messages or events.
    Progress { what: &'static str, done: u64, of: u64 },
}
