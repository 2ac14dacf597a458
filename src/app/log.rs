//! The first and the last line of the log.

use tracing::field::display;

use super::error::StartError;
use super::listeners::Addresses;
use super::role::Role;
use crate::config::Config;
use crate::telemetry::build;
use storage::event_bus;
use storage::hot_store::config::Backend;

/// Before anything can go wrong. The addresses are as configured; see [`listening`].
pub(super) fn starting(config: &Config, role: Role) {
    let hot_store = match config.store.hot_store {
        Backend::Embedded => "embedded",
        Backend::Redis => "redis",
        Backend::HistoryService => "history-service",
    };
    let event_bus = match config.events.event_bus {
        event_bus::config::Backend::Embedded => "embedded",
        event_bus::config::Backend::Kafka => "kafka",
    };
    tracing::info!(
        event = "starting",
        version = build::VERSION,
        commit = build::COMMIT,
        role = role.name(),
        listen = role.serves_clients().then(|| display(config.server.listen)),
        admin = %config.admin.listen,
        control = %config.control.listen,
        hot_store,
        event_bus,
        data_dir = %config.store.data_dir.display(),
        pid = std::process::id(),
        "heartline starting"
    );
}

/// Settings that may not be meant, one line each.
pub(super) fn warnings(warnings: impl IntoIterator<Item = String>) {
    for warning in warnings {
        tracing::warn!(event = "config_warning", "{warning}");
    }
}

/// Connections are accepted.
pub(super) fn listening(Addresses { public, grpc, admin, control }: &Addresses) {
    let (listen, grpc) = (public.map(display), grpc.map(display));
    tracing::info!(event = "listening", listen, grpc, %admin, %control, "listening");
}

/// All that was accepted is served; what is returned says whether that was the plan.
pub(super) fn stopped(ended: Result<(), StartError>) -> Result<(), StartError> {
    match &ended {
        Ok(()) => tracing::info!(event = "stopped", "stopped"),
        Err(error) => tracing::error!(event = "stopped", exit_code = error.exit_code(), %error, "stopped by an error"),
    }
    ended
}
