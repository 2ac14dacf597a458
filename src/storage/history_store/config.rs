//! The settings of the history store.

use std::time::Duration;

use serde::Deserialize;

/// The store that keeps the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// No store: records stay in the hot store only.
    None,
    /// In Cassandra or ScyllaDB.
    Cassandra,
}

/// The treatment of data that need not stay in the hot store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trim {
    Off,
    /// They stay, and are compared with the history store.
    Shadow,
    /// They leave the hot store once the history store is found to have them.
    On,
}

/// `[history]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryConfig {
    pub store: Backend,
    /// From a user's first change to its pack, and from pack to pack while the user is being written.
    #[serde(with = "humantime_serde")]
    pub interval: Duration,
    /// Bytes of a pack, before they are compressed.
    pub pack_bytes: usize,
    pub trim: Trim,
    /// Contents of a user in the hot store, above which the user is trimmed.
    pub hot_max: u32,
    /// Contents that stay of a trimmed user.
    pub hot_keep: u32,
    /// Only the head stays of a user who was not written for so long. 0 = never.
    #[serde(with = "humantime_serde")]
    pub hot_idle: Duration,
}

impl HistoryConfig {
    /// Whether changes are carried to a history store.
    pub fn is_kept(&self) -> bool {
        self.store != Backend::None
    }
}
