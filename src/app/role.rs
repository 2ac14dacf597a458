//! Which parts of Heartline a process runs.

use clap::ValueEnum;

use crate::config::Config;
use crate::storage::hot_store::config::Backend;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Everything that the settings ask for, in one process.
    #[default]
    All,
    /// Sockets and commits; changes go as far as Kafka.
    Gateway,
    /// What brings changes from Kafka to the history store; probes and metrics, no sockets.
    Job,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::All => "all",
            Role::Gateway => "gateway",
            Role::Job => "job",
        }
    }

    /// Whether a process of this role writes the history store, by these settings.
    pub fn has_job(self, config: &Config) -> bool {
        self != Role::Gateway && config.history.is_kept()
    }

    /// Why there is nothing to do for this role, if there is not.
    pub fn misfit(self, config: &Config) -> Option<String> {
        let idle = self == Role::Job && !config.history.is_kept();
        idle.then(|| match config.store.hot_store {
            Backend::Embedded => {
                "history.store: is \"none\", so there is no job; the embedded hot store is the history, and needs none"
                    .to_owned()
            }
            Backend::Redis => "history.store: is \"none\", so there is no job; set it to \"cassandra\"".to_owned(),
        })
    }
}
