//! The settings of the history store.

use serde::Deserialize;

/// Where what leaves the hot store is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Nowhere: nothing leaves the hot store.
    None,
    /// In Cassandra or ScyllaDB.
    Cassandra,
}

/// `[history]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryConfig {
    pub store: Backend,
}
