//! The published set of keys (`auth.jwks_url`): fetched on a thread of its own, and waited for by the start.

use std::fmt::{self, Debug, Formatter};
use std::net::TcpListener;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::assembly::Assembly;
use super::error::StartError;
use super::operator;
use super::spawn::{runtime, spawn};
use crate::config::Config;
use crate::telemetry::metrics;
use domain::time::clock;
use edge::admin::{self, Probed};
use edge::auth::Verifier;
use edge::auth::key_url::{FETCH_MAX, Fetch, KeyUrl, Published, SET_BYTES_MAX};
use edge::operator_server;
use model::subscribers::EndpointUrl;
use storage_http::{Fetcher, NoRoots};
use tokio::time::timeout;

/// Where the certificates of the issuer are configured.
const CA: &str = "auth.jwks_ca";

/// The answers of the probe listener while a start waits.
struct Waiting {
    keys: Arc<KeyUrl>,
    registry: Registry,
}

/// Computed at each scrape.
struct KeyAge(Arc<KeyUrl>);

/// Fetches keys, and trusts the authorities of `auth.jwks_ca`.
pub(super) fn fetcher(config: &Config) -> Result<Fetcher, NoRoots> {
    Fetcher::new(&config.auth.jwks_ca, CA, SET_BYTES_MAX)
}

/// `None`: no URL is configured.
pub(super) fn open(config: &Config) -> Result<Option<Arc<KeyUrl>>, StartError> {
    let Some(text) = config.auth.jwks_url() else { return Ok(None) };
    let url: EndpointUrl = text.parse().expect("the checks of the settings have read it");
    let fetcher = fetcher(config)?;
    let fetch: Fetch = Box::new(move || {
        let (fetcher, url) = (fetcher.clone(), url.clone());
        Box::pin(async move {
            let fetched = fetcher.get(&url).await.map_err(|error| error.to_string())?;
            Ok(Published { text: fetched.text, max_age: fetched.max_age })
        })
    });
    Ok(Some(KeyUrl::new(text, config.auth.jwks_refresh, &config.store.data_dir, fetch)))
}

/// Fetches from now on, and returns once a set is in force. `probes` answers meanwhile.
pub(super) fn wait_for(keys: &Arc<KeyUrl>, verifier: &Arc<Verifier>, probes: &TcpListener) -> Result<(), StartError> {
    let (of_thread, verifier) = (keys.clone(), verifier.clone());
    let fetching = runtime().map_err(StartError::Process)?;
    let run = move || fetching.block_on(of_thread.run(|keys| verifier.use_keys_of_url(keys), clock::wall));
    spawn("keys", run).map_err(StartError::Process)?;
    let waiting = runtime().map_err(StartError::Process)?;
    // A good answer comes at once: then no probe sees anything of this.
    if waiting.block_on(async { timeout(FETCH_MAX, keys.first()).await }).is_ok() {
        return Ok(());
    }
    tracing::warn!(event = "keys_awaited", "no keys yet; the start waits for auth.jwks_url");
    waiting.block_on(answer_probes(keys, probes)).map_err(StartError::Process)
}

async fn answer_probes(keys: &Arc<KeyUrl>, probes: &TcpListener) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(probes.try_clone()?)?;
    let mut registry = metrics::registry();
    keys.register(metrics::part(&mut registry));
    let router = admin::router(Waiting { keys: keys.clone(), registry });
    tokio::select! {
        () = operator_server::serve(listener, router, operator::PROBES) => {}
        () = keys.first() => {}
    }
    Ok(())
}

/// Shows in the probes and the metrics how fresh the keys are.
pub(super) fn register(keys: &Arc<KeyUrl>, assembly: &mut Assembly) {
    keys.register(assembly.metrics());
    assembly.metrics().register_collector(Box::new(KeyAge(keys.clone())));
    let of_probes = keys.clone();
    assembly.degraded.push(Box::new(move || of_probes.trouble().into_iter().collect()));
}

impl Debug for KeyAge {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        formatter.debug_tuple("KeyAge").field(&self.0.fetched_at()).finish()
    }
}

impl Collector for KeyAge {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let Some(fetched_at) = self.0.fetched_at() else { return Ok(()) };
        let help = "Seconds since the keys in force were fetched from auth.jwks_url";
        let age = ConstGauge::new(clock::wall().saturating_sub(fetched_at) as f64 / 1_000.0);
        age.encode(encoder.encode_descriptor("jwks_age_seconds", help, None, age.metric_type())?)
    }
}

impl Probed for Waiting {
    fn unready(&self) -> Vec<String> {
        vec![self.keys.trouble().unwrap_or_else(|| "waiting for the first answer of auth.jwks_url".to_owned())]
    }

    fn degraded(&self) -> Vec<String> {
        Vec::new()
    }

    fn registry(&self) -> &Registry {
        &self.registry
    }
}
