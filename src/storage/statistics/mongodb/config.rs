//! The settings of MongoDB.

use super::address;
use super::refused::MongoRefused;
use crate::model::secret::Secret;

/// The address of MongoDB.
#[derive(Clone, Debug)]
pub struct MongoConfig {
    /// May hold a password.
    pub url: Secret,
    pub database: String,
}

impl MongoConfig {
    /// The mistake in the URL, without any secret; `None` if the URL is good. Does no DNS lookup.
    pub fn mistake(&self) -> Option<String> {
        address::mistake(self.url.expose())
    }

    /// Whether MongoDB accepts the name of the database.
    pub fn names_database(&self) -> bool {
        address::is_database(&self.database)
    }

    pub(super) fn check(&self) -> Result<(), MongoRefused> {
        if let Some(mistake) = self.mistake() {
            return Err(MongoRefused::Url(mistake));
        }
        if !self.names_database() {
            return Err(MongoRefused::Database(self.database.clone()));
        }
        Ok(())
    }
}
