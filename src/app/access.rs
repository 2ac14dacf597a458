//! The keys, revocations and limits that decide which clients may connect, opened before anything is built on them.

use std::sync::Arc;
use std::time::Duration;

use super::error::StartError;
use crate::config::Config;
use crate::domain::devices::presence::Presence;
use crate::domain::revocations::Revocations;
use crate::edge::auth::token::LEEWAY_MS;
use crate::edge::auth::{ControlToken, SigningKey, Verifier};
use crate::edge::listener::Tls;
use crate::edge::visitor::VisitorClasses;
use crate::storage::device_channel::DeviceChannel;
use crate::storage::revocation_list::RevocationList;

pub(super) struct Access {
    /// Signs what the gateway accepts, if it has such a key.
    pub key: Option<Arc<SigningKey>>,
    pub control_token: ControlToken,
    pub verifier: Arc<Verifier>,
    pub presence: Arc<Presence>,
    pub revocations: Arc<Revocations>,
    pub visitors: Arc<VisitorClasses>,
}

impl Access {
    /// `channel`: to other gateways, which share the list of revocations.
    pub fn open(
        config: &Config,
        channel: &Arc<dyn DeviceChannel>,
        list: Box<dyn RevocationList>,
    ) -> Result<Self, StartError> {
        let key = SigningKey::load(&config.auth, &config.store.data_dir)?.map(Arc::new);
        let control_token = ControlToken::load(&config.control, &config.store.data_dir)?;
        let verifier = Arc::new(Verifier::new(&config.auth, key.as_deref())?);
        let presence = Presence::with_channel(config.limits.connections_per_user, channel.clone());
        let token_life_max = config.auth.token_life_max().map(|life| life + Duration::from_millis(LEEWAY_MS));
        let revocations = Revocations::open(presence.clone(), list, channel.clone(), token_life_max)?;
        let revocations = Arc::new(revocations);
        let visitors = VisitorClasses::open(config.live.geoip())?;
        Ok(Access { key, control_token, verifier, presence, revocations, visitors })
    }

    /// The reload at SIGHUP.
    pub fn reload(&self, certificates: Vec<Arc<Tls>>) -> impl Fn() + Send + 'static {
        let (verifier, visitors) = (self.verifier.clone(), self.visitors.clone());
        move || reload(&verifier, &certificates, &visitors)
    }
}

fn reload(verifier: &Verifier, certificates: &[Arc<Tls>], visitors: &VisitorClasses) {
    match verifier.reload() {
        Ok(keys) => tracing::info!(event = "keys_reloaded", keys, "keys reloaded"),
        Err(error) => {
            tracing::error!(event = "keys_reload_failed", %error, "cannot reload keys; keeping the current ones")
        }
    }
    for tls in certificates {
        match tls.reload() {
            Ok(()) => tracing::info!(event = "certificate_reloaded", "certificate reloaded"),
            Err(error) => {
                tracing::error!(event = "certificate_reload_failed", %error, "cannot reload the certificate; keeping the current one")
            }
        }
    }
    match visitors.reload() {
        Some(Ok(())) => tracing::info!(event = "country_file_reloaded", "country file reloaded"),
        Some(Err(error)) => {
            tracing::error!(event = "country_file_reload_failed", %error, "cannot reload the country file; keeping the current one")
        }
        None => {}
    }
}
