//! Settings of the statistics store. Each is explained, with its default, in `deploy/heartline.toml`.

use serde::Deserialize;

use super::mongodb::MongoConfig;
use crate::model::secret::Secret;

/// `[statistics]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatisticsConfig {
    pub store: Backend,
    /// May hold a password.
    pub url: Secret,
    pub database: String,
}

/// The store that keeps totals and days permanently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// In the embedded hot store.
    Embedded,
    Mongodb,
}

impl StatisticsConfig {
    pub fn mongodb(&self) -> MongoConfig {
        MongoConfig { url: self.url.clone(), database: self.database.clone() }
    }
}
