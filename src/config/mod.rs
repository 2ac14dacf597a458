//! The settings of the process: the defaults, then a file, then the environment.
//!
//! `deploy/heartline.toml` is compiled in and *is* the defaults. It is the schema, too: a key that is not in it is
//! refused, and so is a value of another type (`layers`). Each part then reads its own settings (`given`), and they are
//! checked against each other (`checks`). A setting that is wrong does not hide what else is wrong. Settings that are
//! accepted, and that may not be meant, are `warnings`.
//! Nothing else in Heartline reads the environment.

mod alike;
mod checks;
mod contents_checks;
mod control_checks;
mod counters_checks;
mod error;
mod fleet_checks;
mod given;
mod grpc_checks;
mod history_checks;
mod history_service_checks;
mod kafka_checks;
mod kind;
mod layers;
mod live_checks;
mod lookalikes;
mod reading_checks;
mod rewards_checks;
mod secrets;
mod statistics_checks;
mod subjects_checks;
mod subscribers_checks;
mod views_checks;
mod warnings;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::telemetry::LogConfig;
use domain::counters::config::CountersConfig;
use domain::devices::config::PushConfig;
use domain::live::config::LiveConfig;
use domain::rewards::config::RewardsConfig;
use domain::subscribers::config::SubscribersConfig;
use domain::views::config::ViewsConfig;
use edge::auth::AuthConfig;
use edge::config::{AdminConfig, ControlConfig, DemoConfig, ServerConfig};
use edge::grpc::config::GrpcConfig;
use edge::limits::config::{ContentsConfig, LimitsConfig, SocketConfig};
use model::reading::Reading;
use storage::config::cassandra::CassandraConfig;
use storage::config::history_service::HistoryServiceConfig;
use storage::config::kafka::KafkaConfig;
use storage::config::redis::RedisConfig;
use storage::event_bus;
use storage::history_store::config::HistoryConfig;
use storage::hot_store;
use storage::statistics::config::StatisticsConfig;

pub use error::{ConfigError, Problem};
use given::Given;
use layers::Layers;

/// The commented defaults, as printed by `heartline default-config`.
pub const DEFAULTS: &str = include_str!("../../deploy/heartline.toml");

/// Every part's own settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub server: ServerConfig,
    pub admin: AdminConfig,
    pub control: ControlConfig,
    pub grpc: GrpcConfig,
    pub auth: AuthConfig,
    pub contents: ContentsConfig,
    pub limits: LimitsConfig,
    pub socket: SocketConfig,
    pub store: hot_store::config::Config,
    pub redis: RedisConfig,
    pub history_service: HistoryServiceConfig,
    pub rewards: RewardsConfig,
    pub events: event_bus::config::Config,
    pub kafka: KafkaConfig,
    pub history: HistoryConfig,
    pub cassandra: CassandraConfig,
    pub reading: Reading,
    pub push: PushConfig,
    pub live: LiveConfig,
    pub views: ViewsConfig,
    pub statistics: StatisticsConfig,
    pub counters: CountersConfig,
    pub subscribers: SubscribersConfig,
    pub demo: DemoConfig,
    pub log: LogConfig,
    /// The settings that all gateways on one Redis must have alike, as texts by name. No setting of its own.
    #[serde(skip)]
    pub alike: BTreeMap<String, String>,
}

/// Settings and all that is wrong with them.
pub struct Checked {
    /// With the defaults of the settings that are wrong; `None` when a file cannot be read.
    pub config: Option<Config>,
    /// In the order of the layers, then those of the checks.
    pub problems: Vec<Problem>,
    /// Settings that are accepted, and that may not be meant.
    pub warnings: Vec<Problem>,
    layers: Layers,
}

impl Checked {
    /// The settings as TOML, with what is secret masked.
    pub fn text(&self) -> String {
        self.layers.masked()
    }

    /// Whether this setting was given and is wrong, so that its value in `config` means nothing.
    pub fn is_broken(&self, setting: &str) -> bool {
        self.layers.names_broken(setting)
    }

    fn of(mut layers: Layers, mut problems: Vec<Problem>) -> Self {
        contents_checks::adapt_defaults(&mut layers);
        let mut config = match layers.unread {
            true => None,
            false => read(&mut layers, &mut problems),
        };
        if let Some(config) = &mut config {
            config.counters.derived_is_given = layers.is_given(counters_checks::DERIVED);
            config.push.steady_interval_is_given = layers.is_given(checks::STEADY_INTERVAL);
            config.alike = alike::of(&layers);
        }
        problems.extend(config.iter().flat_map(|config| checks::problems(config, &layers)));
        let warnings = config.iter().flat_map(|config| warnings::warnings(config, &layers)).collect();
        Checked { config, problems, warnings, layers }
    }

    /// The settings, or all for which they are refused.
    pub fn good(self) -> Result<Config, ConfigError> {
        match self.config {
            Some(config) if self.problems.is_empty() => Ok(config),
            _ => Err(ConfigError { problems: self.problems }),
        }
    }
}

impl Config {
    /// The settings of this process: defaults, this file, the environment.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        check(file).good()
    }

    #[cfg(test)]
    fn from_layers(layers: &Layers) -> Result<Self, ConfigError> {
        Checked::of(layers.clone(), Vec::new()).good()
    }
}

/// The settings that [`Config::load`] gives, or all for which it refuses them.
pub fn check(file: Option<&Path>) -> Checked {
    let mut layers = Layers::defaults();
    let mut problems = match file {
        Some(path) => layers.add_file(path),
        None => Vec::new(),
    };
    problems.extend(layers.add_environment(std::env::vars_os()));
    Checked::of(layers, problems)
}

/// The warnings about environment variables that look like settings and are ignored, one line each.
pub fn lookalikes() -> Vec<String> {
    lookalikes::warnings(&Layers::defaults(), std::env::vars_os())
}

/// Reads until nothing is left that a part cannot take.
fn read(layers: &mut Layers, problems: &mut Vec<Problem>) -> Option<Config> {
    loop {
        match serde_path_to_error::deserialize(Given(layers.table().clone().into())) {
            Ok(config) => return Some(config),
            Err(error) => problems.push(layers.misfit(&error.path().to_string(), &error.inner().to_string())?),
        }
    }
}

#[cfg(test)]
mod tests;
