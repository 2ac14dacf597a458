//! Why the log cannot be written or read.

use storage::event_bus::BusError;

use super::codec::DecodeError;
use crate::describe;

/// The [`BusError`] of this log, before it leaves it.
#[derive(Debug, thiserror::Error)]
#[error("event bus unavailable: {0}")]
pub struct LogError(pub String);

impl From<fjall::Error> for LogError {
    fn from(error: fjall::Error) -> Self {
        LogError(describe(&error))
    }
}

impl From<DecodeError> for LogError {
    fn from(malformed: DecodeError) -> Self {
        LogError(malformed.to_string())
    }
}

impl From<LogError> for BusError {
    fn from(error: LogError) -> Self {
        BusError(error.0)
    }
}
