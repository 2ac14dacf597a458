//! Why a MongoDB is not used, and how to fix it.

use std::io;

use mongodb::error::{Error, ErrorKind};

use storage::statistics::StatisticsAway;

/// Errors at the start. One line for each problem, with the way to fix it.
#[derive(Debug, thiserror::Error)]
pub enum MongoRefused {
    #[error("statistics.url {0}")]
    Url(String),
    #[error(
        "statistics.database: {0:?} cannot be used; write 1 to 63 bytes without spaces and without / \\ . \" $ * < > : | ?, \
         and none of admin, config and local"
    )]
    Database(String),
    #[error("{}", .0.join("\n"))]
    Unfit(Vec<String>),
    #[error("mongodb is away: {0}; start it, or set statistics.url to a running one")]
    Away(String),
    #[error("cannot start the mongodb thread: {0}")]
    Process(io::Error),
}

impl MongoRefused {
    /// Codes of `sysexits.h`.
    pub fn exit_code(&self) -> u8 {
        match self {
            MongoRefused::Url(_) | MongoRefused::Database(_) | MongoRefused::Unfit(_) => 78,
            MongoRefused::Away(_) => 69,
            MongoRefused::Process(_) => 71,
        }
    }
}

/// Why MongoDB cannot be used at the moment.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A failure that may pass by itself.
    Away(String),
    /// Problems that an operator has to fix.
    Unfit(Vec<String>),
}

impl From<Refusal> for StatisticsAway {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Away(why) => StatisticsAway(why),
            Refusal::Unfit(lines) => StatisticsAway(lines.join("; ")),
        }
    }
}

/// The driver's message for an error. The driver may quote the URL, but only where it refuses an argument.
pub(super) fn describe(error: &Error) -> String {
    match &*error.kind {
        ErrorKind::InvalidArgument { .. } => "the driver does not take statistics.url".to_owned(),
        kind => kind.to_string(),
    }
}
