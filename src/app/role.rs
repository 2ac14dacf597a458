//! Which parts of Heartline a process runs.

use clap::ValueEnum;

use crate::config::Config;
use crate::storage::event_bus;
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
    /// What brings events from Kafka to subscribers; probes and metrics, no sockets.
    Cascade,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::All => "all",
            Role::Gateway => "gateway",
            Role::Job => "job",
            Role::Cascade => "cascade",
        }
    }

    /// Whether a process of this role writes the history store, by these settings.
    pub fn has_job(self, config: &Config) -> bool {
        matches!(self, Role::All | Role::Job) && config.history.is_kept()
    }

    /// Whether a process of this role serves subscribers.
    pub fn has_cascade(self) -> bool {
        matches!(self, Role::All | Role::Cascade)
    }

    /// Why there is nothing to do for this role, if there is not.
    pub fn misfit(self, config: &Config) -> Option<String> {
        match self {
            Role::All | Role::Gateway => None,
            Role::Job => (!config.history.is_kept()).then(|| no_job(config.store.hot_store).to_owned()),
            Role::Cascade => no_cascade(config).map(str::to_owned),
        }
    }
}

fn no_job(hot_store: Backend) -> &'static str {
    match hot_store {
        Backend::Embedded => {
            "history.store: is \"none\", so there is no job; the embedded hot store is the history, and needs none"
        }
        Backend::Redis => "history.store: is \"none\", so there is no job; set it to \"cassandra\"",
    }
}

fn no_cascade(config: &Config) -> Option<&'static str> {
    if config.store.hot_store == Backend::Embedded {
        return Some("store.hot_store: is \"embedded\", so the gateway itself serves subscribers; set it to \"redis\"");
    }
    let in_kafka = config.events.event_bus == event_bus::config::Backend::Kafka;
    (!in_kafka).then_some("events.event_bus: is \"embedded\", so there is no cascade; set it to \"kafka\"")
}
