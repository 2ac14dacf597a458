//! Why a Cassandra is not used, and how to fix it.

use std::io;

use scylla::errors::{
    ConnectionError, ConnectionPoolError, ConnectionSetupRequestErrorKind, DbError, MetadataError, NewSessionError,
};

/// Why a start with this Cassandra is refused: one line for each problem, with its fix.
#[derive(Debug, thiserror::Error)]
pub enum CassandraRefused {
    #[error("cannot reach Cassandra at {nodes}: {cause}; start it, or correct cassandra.nodes")]
    Unreachable { nodes: String, cause: String },
    #[error("{}", .0.join("\n"))]
    Unfit(Vec<String>),
    #[error("cannot start the cassandra thread: {0}")]
    Process(io::Error),
}

impl CassandraRefused {
    pub(super) fn unfit(line: impl Into<String>) -> Self {
        CassandraRefused::Unfit(vec![line.into()])
    }

    /// Why there is no session: no node answers, or the login is refused.
    pub(super) fn of_connecting(nodes: &[String], error: &NewSessionError) -> Self {
        let unreachable = |cause: String| CassandraRefused::Unreachable { nodes: nodes.join(", "), cause };
        let NewSessionError::MetadataError(MetadataError::ConnectionPoolError(ConnectionPoolError::Broken {
            last_connection_error: last,
        })) = error
        else {
            return unreachable(error.to_string());
        };
        let ConnectionError::ConnectionSetupRequestError(setup) = last else { return unreachable(last.to_string()) };
        match setup.get_error() {
            ConnectionSetupRequestErrorKind::MissingAuthentication => CassandraRefused::unfit(
                "Cassandra asks for a user; set cassandra.user and cassandra.password".to_owned(),
            ),
            ConnectionSetupRequestErrorKind::DbError(DbError::AuthenticationError, reason) => {
                CassandraRefused::unfit(format!("Cassandra refuses cassandra.user and cassandra.password: {reason}"))
            }
            other => unreachable(other.to_string()),
        }
    }

    /// An exit code of `sysexits.h`.
    pub fn exit_code(&self) -> u8 {
        match self {
            CassandraRefused::Unreachable { .. } => 69,
            CassandraRefused::Unfit(_) => 78,
            CassandraRefused::Process(_) => 71,
        }
    }
}
