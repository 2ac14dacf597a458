//! The settings that the gateways of a deployment have agreed on: `{h0}:settings`, texts by name, as JSON.
//!
//! The first gateway writes its own. A gateway with others is refused at its start, unless it is told to make them the
//! deployment's. The gateways that run look every two seconds, and end when theirs are no longer the deployment's.

use std::collections::BTreeMap;
use std::time::Duration;

use ::redis::pipe;
use tokio::time::sleep;

use super::{Redis, checked, tag, value};
use model::shard::Shard;
use storage::agreed_settings::Difference;
use storage::store_error::StoreError;

/// Where it is kept.
const SHARD: Shard = Shard(0);
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// The settings of this process.
#[derive(Clone)]
pub struct FleetSettings {
    redis: Redis,
    own: BTreeMap<String, String>,
}

impl FleetSettings {
    pub fn new(redis: Redis, own: BTreeMap<String, String>) -> Self {
        FleetSettings { redis, own }
    }

    /// Whether the deployment has agreed on this setting.
    pub async fn know(&self, setting: &str) -> Result<bool, StoreError> {
        Ok(self.stored().await?.is_some_and(|stored| stored.contains_key(setting)))
    }

    /// Compares the settings with the deployment's, or makes them the deployment's if it has none. Returns those that
    /// differ; `accept`: after they have become the deployment's.
    ///
    /// # Errors
    /// The settings may have become the deployment's.
    pub async fn agree(&self, accept: bool) -> Result<Vec<Difference>, StoreError> {
        let stored = match self.stored().await? {
            Some(stored) => stored,
            None => {
                // Another gateway may be first.
                let mut commands = pipe();
                commands.cmd("SET").arg(key()).arg(self.text(&BTreeMap::new())).arg("NX");
                checked::ask(&self.redis, SHARD, commands).await?;
                self.stored().await?.unwrap_or_default()
            }
        };
        let differences = self.differences(&stored);
        // A setting that the gateways before did not have is added.
        let has_more = self.own.keys().any(|setting| !stored.contains_key(setting));
        if accept && !differences.is_empty() || differences.is_empty() && has_more {
            let mut commands = pipe();
            commands.set(key(), self.text(&stored));
            checked::ask(&self.redis, SHARD, commands).await?;
        }
        Ok(differences)
    }

    /// Resolves when the settings are no longer the deployment's, to those that differ.
    pub async fn overruled(self) -> Vec<Difference> {
        loop {
            sleep(LOOK_INTERVAL).await;
            // Others tell that Redis is away.
            let Ok(Some(stored)) = self.stored().await else { continue };
            let differences = self.differences(&stored);
            if !differences.is_empty() {
                return differences;
            }
        }
    }

    async fn stored(&self) -> Result<Option<BTreeMap<String, String>>, StoreError> {
        let mut commands = pipe();
        commands.get(key());
        let answer = checked::ask(&self.redis, SHARD, commands).await?.swap_remove(0);
        let Some(text) = value::bytes_or_nil(answer)? else { return Ok(None) };
        let stored = serde_json::from_slice(&text);
        stored.map(Some).map_err(|error| StoreError::Away(format!("{} cannot be read: {error}", key())))
    }

    fn differences(&self, stored: &BTreeMap<String, String>) -> Vec<Difference> {
        Difference::all(&self.own, |setting| stored.get(setting), "the other gateways on this Redis")
    }

    /// The text to store: the stored settings with those of this process.
    fn text(&self, stored: &BTreeMap<String, String>) -> String {
        let mut all = stored.clone();
        all.extend(self.own.clone());
        serde_json::json!(all).to_string()
    }
}

fn key() -> String {
    format!("{}:settings", tag(SHARD))
}
