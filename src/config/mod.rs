//! What the process is to do: the defaults, then a file, then the environment.
//!
//! `deploy/heartline.toml` is compiled in and *is* the defaults. It is the schema, too: a key that is not in it is
//! refused, and so is a value of another type (`layers`). What is left is checked against the rest (`checks`).
//! Nothing else in Heartline reads the environment.

mod checks;
mod error;
mod kafka_checks;
mod kind;
mod layers;
mod redis_checks;
mod rewards_checks;

use std::path::Path;

use serde::Deserialize;

use crate::domain::devices::config::PushConfig;
use crate::domain::rewards::config::RewardsConfig;
use crate::edge::auth::AuthConfig;
use crate::edge::config::{AdminConfig, DemoConfig, ServerConfig};
use crate::edge::connection::limits::{LimitsConfig, SocketConfig};
use crate::model::reading::Reading;
use crate::storage::event_bus;
use crate::storage::event_bus::kafka::config::KafkaConfig;
use crate::storage::hot_store;
use crate::storage::redis::config::RedisConfig;
use crate::telemetry::LogConfig;

pub use error::{ConfigError, Problem};
use layers::Layers;

/// The commented defaults, as printed by `heartline default-config`.
pub const DEFAULTS: &str = include_str!("../../deploy/heartline.toml");

/// Every part's own settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub server: ServerConfig,
    pub admin: AdminConfig,
    pub auth: AuthConfig,
    pub limits: LimitsConfig,
    pub socket: SocketConfig,
    pub store: hot_store::config::Config,
    pub redis: RedisConfig,
    pub rewards: RewardsConfig,
    pub events: event_bus::config::Config,
    pub kafka: KafkaConfig,
    pub reading: Reading,
    pub push: PushConfig,
    pub demo: DemoConfig,
    pub log: LogConfig,
}

impl Config {
    /// The settings of this process: defaults, this file, the environment.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        Self::from_layers(&layers_of_process(file)?)
    }

    fn from_layers(layers: &Layers) -> Result<Self, ConfigError> {
        let config: Config = serde_path_to_error::deserialize(layers.table().clone())
            .map_err(|error| layers.misfit(&error.path().to_string(), error.inner().message()))?;
        let problems = checks::problems(&config, layers);
        if problems.is_empty() { Ok(config) } else { Err(ConfigError { problems }) }
    }
}

/// The settings that [`Config::load`] would give, as TOML, with what is secret masked; refused if it would refuse them.
pub fn effective(file: Option<&Path>) -> Result<String, ConfigError> {
    let layers = layers_of_process(file)?;
    Config::from_layers(&layers)?;
    Ok(layers.masked())
}

fn layers_of_process(file: Option<&Path>) -> Result<Layers, ConfigError> {
    let mut layers = Layers::defaults();
    let mut problems = match file {
        Some(path) => layers.add_file(path),
        None => Vec::new(),
    };
    problems.extend(layers.add_environment(std::env::vars_os()));
    if problems.is_empty() { Ok(layers) } else { Err(ConfigError { problems }) }
}

#[cfg(test)]
mod tests;
