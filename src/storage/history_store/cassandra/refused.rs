//! Why a Cassandra is not used, and how to mend it.

use std::io;

/// Of the start. Several lines if several things are wrong, each with what mends it.
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

    /// Of sysexits.h.
    pub fn exit_code(&self) -> u8 {
        match self {
            CassandraRefused::Unreachable { .. } => 69,
            CassandraRefused::Unfit(_) => 78,
            CassandraRefused::Process(_) => 71,
        }
    }
}
