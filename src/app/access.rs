//! The keys, revocations and limits that decide which clients may connect, opened before anything is built on them.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use super::assembly::Assembly;
use super::error::StartError;
use super::files_in_use::FilesInUse;
use super::keys;
use super::redis_certificates::RedisCertificates;
use crate::config::Config;
use domain::devices::presence::Presence;
use domain::revocations::Revocations;
use edge::auth::key_url::KeyUrl;
use edge::auth::token::LEEWAY_MS;
use edge::auth::{ControlToken, SigningKey, Verifier};
use edge::listener::Tls;
use edge::visitor::VisitorClasses;
use storage::device_channel::DeviceChannel;
use storage::revocation_list::RevocationList;

pub(super) struct Access {
    /// Signs what the gateway accepts, if it has such a key.
    pub key: Option<Arc<SigningKey>>,
    pub control_token: ControlToken,
    pub verifier: Arc<Verifier>,
    keys: Option<Arc<KeyUrl>>,
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
        let keys = keys::open(config)?;
        let verifier = Arc::new(Verifier::with_url(&config.auth, key.as_deref(), keys.clone())?);
        let presence = Presence::with_channel(config.limits.connections_per_user, channel.clone());
        let token_life_max = config.auth.token_life_max().map(|life| life + Duration::from_millis(LEEWAY_MS));
        let revocations = Revocations::open(presence.clone(), list, channel.clone(), token_life_max)?;
        let revocations = Arc::new(revocations);
        let visitors = VisitorClasses::open(config.live.geoip())?;
        Ok(Access { key, control_token, verifier, keys, presence, revocations, visitors })
    }

    /// Returns once there are keys of `auth.jwks_url`, if it is configured. `probes` answers meanwhile.
    pub fn wait_for_keys(&self, probes: &TcpListener) -> Result<(), StartError> {
        self.keys.as_ref().map_or(Ok(()), |keys| keys::wait_for(keys, &self.verifier, probes))
    }

    pub fn register_keys(&self, assembly: &mut Assembly) {
        self.keys.iter().for_each(|keys| keys::register(keys, assembly));
    }

    /// The files that a reload reads again, with those of these certificates.
    pub fn files_in_use(&self, certificates: Vec<Arc<Tls>>, redis: Option<Arc<RedisCertificates>>) -> Arc<FilesInUse> {
        FilesInUse::new(self.verifier.clone(), certificates, redis, self.visitors.clone())
    }
}
