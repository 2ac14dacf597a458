//! The settings that all gateways on one Redis must have alike: agreed on at the start.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::error::StartError;
use crate::storage::redis::fleet_settings::FleetSettings;

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
