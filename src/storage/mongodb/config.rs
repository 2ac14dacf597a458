//! The settings of MongoDB.

use super::address::mistake;
use super::refused::MongoRefused;
use model::secret::Secret;
use storage::statistics::config::{StatisticsConfig, is_database};

/// The address of MongoDB.
#[derive(Clone, Debug)]
pub struct MongoConfig {
    /// May hold a password.
    pub url: Secret,
    pub database: String,
}

impl From<&StatisticsConfig> for MongoConfig {
    fn from(config: &StatisticsConfig) -> Self {
        MongoConfig { url: config.url.clone(), database: config.database.clone() }
    }
}

impl MongoConfig {
    pub(super) fn check(&self) -> Result<(), MongoRefused> {
        if let Some(mistake) = mistake(self.url.expose()) {
            return Err(MongoRefused::Url(mistake));
        }
        if !is_database(&self.database) {
            return Err(MongoRefused::Database(self.database.clone()));
        }
        Ok(())
    }
}
