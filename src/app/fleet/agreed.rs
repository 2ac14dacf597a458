//! The settings that all processes of a deployment must have alike: agreed on at the start.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::super::error::StartError;
use crate::config::Config;
use storage_redis::fleet_settings::FleetSettings;

/// The settings that a gateway without a store compares with its services: it reads tokens, refuses expired beats, and
/// computes the progress of records.
const STORELESS: [&str; 4] = ["auth.subjects", "contents.ids", "store.retention", "reading."];
/// The settings that a cascade compares: the deployment names its group of consumers, and filters find contents in events.
const CASCADE: [&str; 2] = ["contents.ids", "events.deployment"];

pub(super) fn of_storeless(config: &Config) -> BTreeMap<String, String> {
    some(config, &STORELESS)
}

pub(super) fn of_cascade(config: &Config) -> BTreeMap<String, String> {
    some(config, &CASCADE)
}

/// A name that ends with a dot stands for all settings of a section.
fn some(config: &Config, names: &[&str]) -> BTreeMap<String, String> {
    let is_one = |setting: &str| {
        names.iter().any(|name| if name.ends_with('.') { setting.starts_with(name) } else { setting == *name })
    };
    let settings = config.alike.iter().filter(|(setting, _)| is_one(setting));
    settings.map(|(setting, value)| (setting.clone(), value.clone())).collect()
}

/// Refuses other settings than the deployment's, unless they are to be the deployment's from now on.
pub(super) async fn agree(settings: &FleetSettings, accept: bool) -> Result<(), StartError> {
    let differences = settings.agree(accept).await.map_err(StartError::StoreAway)?;
    if differences.is_empty() {
        return Ok(());
    }
    if !accept {
        return Err(StartError::OtherSettings(differences));
    }
    let names: Vec<_> = differences.iter().map(|difference| &*difference.setting).collect();
    tracing::warn!(
        event = "settings_accepted",
        settings = names.join(", "),
        "these settings are those of all gateways on this Redis now; gateways with others drain and end"
    );
    Ok(())
}

/// Resolves when another gateway has made its settings those of all.
pub(super) fn overruled(settings: &FleetSettings) -> BoxFuture<'static, StartError> {
    settings.clone().overruled().map(StartError::OtherSettings).boxed()
}
