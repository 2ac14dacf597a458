//! Which parts of Heartline a process runs.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::config::Config;
use storage::event_bus;
use storage::hot_store::config::Backend;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Everything that the settings ask for, in one process.
    #[default]
    All,
    /// Sockets and commits; changes go as far as Kafka.
    Gateway,
    /// Commits, and what follows from them, for callers over gRPC; no sockets.
    History,
    /// The job that brings changes from Kafka to the history store; probes and metrics, no sockets.
    Job,
    /// The cascade, which brings events from Kafka to subscribers; probes and metrics, no sockets.
    Cascade,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::All => "all",
            Role::Gateway => "gateway",
            Role::History => "history",
            Role::Job => "job",
            Role::Cascade => "cascade",
        }
    }

    /// Whether a process of this role serves clients, on sockets and over HTTP.
    pub fn serves_clients(self) -> bool {
        matches!(self, Role::All | Role::Gateway)
    }

    /// Whether a process of this role serves callers, over gRPC and by the control listener.
    pub fn serves_callers(self) -> bool {
        matches!(self, Role::All | Role::Gateway | Role::History)
    }

    /// The settings without those that are for clients only, if this role serves none: what they name may be missing
    /// here.
    pub fn settings(self, mut config: Config) -> Config {
        if !self.serves_clients() {
            (config.server.tls_cert, config.server.tls_key) = (PathBuf::new(), PathBuf::new());
            (config.demo.enabled, config.live.widget) = (false, false);
            config.live.geoip = PathBuf::new();
        }
        config
    }

    /// Whether a process of this role writes the history store, by these settings.
    pub fn has_job(self, config: &Config) -> bool {
        matches!(self, Role::All | Role::Job) && config.history.is_kept()
    }

    /// Whether a process of this role serves subscribers. Every process with an embedded store does.
    pub fn has_cascade(self, config: &Config) -> bool {
        matches!(self, Role::All | Role::Cascade) || config.store.hot_store == Backend::Embedded
    }

    /// Why there is nothing to do for this role, if there is not.
    pub fn misfit(self, config: &Config) -> Option<String> {
        match self {
            Role::All | Role::Gateway => None,
            Role::History => no_service(config).map(str::to_owned),
            Role::Job => (!config.history.is_kept()).then(|| no_job(config.store.hot_store).to_owned()),
            Role::Cascade => no_cascade(config).map(str::to_owned),
        }
    }
}

fn no_service(config: &Config) -> Option<&'static str> {
    if config.store.hot_store == Backend::HistoryService {
        return Some(
            "store.hot_store: is \"history-service\", and a history service has a store; set \"redis\" or \"embedded\"",
        );
    }
    let why = "grpc.listen: is empty, so there is no history service; set it to an address, such as \"127.0.0.1:7703\"";
    config.grpc.listen.0.is_none().then_some(why)
}

fn no_job(hot_store: Backend) -> &'static str {
    match hot_store {
        Backend::Embedded => {
            "history.store: is \"none\", so there is no job; the embedded hot store is the history, and needs none"
        }
        Backend::Redis => "history.store: is \"none\", so there is no job; set it to \"cassandra\"",
        Backend::HistoryService => {
            "store.hot_store: is \"history-service\", so there is no job here; it belongs to the history services"
        }
    }
}

fn no_cascade(config: &Config) -> Option<&'static str> {
    if config.store.hot_store == Backend::Embedded {
        return Some("store.hot_store: is \"embedded\", so the gateway itself serves subscribers; set it to \"redis\"");
    }
    if config.store.hot_store == Backend::HistoryService {
        return Some(
            "store.hot_store: is \"history-service\", so there is no cascade here; it belongs to the history services",
        );
    }
    let in_kafka = config.events.event_bus == event_bus::config::Backend::Kafka;
    (!in_kafka).then_some("events.event_bus: is \"embedded\", so there is no cascade; set it to \"kafka\"")
}
