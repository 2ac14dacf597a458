//! Whether the demo is served: it issues a token for any user to every client that reaches it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::assembly::Assembly;
use crate::config::Config;
use domain::counters::Counters;
use domain::history_packs::feed::PackFeed;
use domain::subscribers::Subscribers;
use edge::auth::SigningKey;
use edge::auth::key::SIGNS_NOTHING;
use edge::control::events::Tail;
use edge::control::live::LiveRoutes;
use edge::demo::{self, DemoContext, PackStreams, Receivers, RewardsClock};
use edge::shutdown::Stop;
use storage::hot_store::config::Backend;

/// The other device of the page moves as often as the one that plays.
const STEADY_INTERVAL: Duration = Duration::from_secs(5);

/// The other parts that the demo shows.
pub(super) struct Shown {
    pub key: Option<Arc<SigningKey>>,
    pub tail: Tail,
    pub live: Arc<LiveRoutes>,
    pub packs: Option<Arc<PackFeed>>,
    pub counters: Arc<Counters>,
    pub receivers: Option<Arc<Receivers>>,
    pub clock: RewardsClock,
}

/// Whether the demo is served. If it is, the settings become what it needs.
pub(super) fn prepare(config: &mut Config) -> bool {
    let is_served = is_served(config);
    if is_served {
        count(config);
        receive(config);
        push(config);
    }
    is_served
}

/// False, with a line in the log, if clients other than a developer at this machine may reach the demo, or if its
/// tokens give access to real data.
fn is_served(config: &Config) -> bool {
    let demo = &config.demo;
    if !demo.enabled || demo.issue_tokens_for_any_user_with_the_real_key {
        return demo.enabled;
    }
    let key = !config.auth.hs256_secret.is_empty() || config.auth.has_key_set();
    let reason = match (key, config.server.trusted_proxies.is_empty()) {
        (false, true) => return true,
        (true, _) => "a key is configured, and the demo would issue tokens for any user with it",
        (false, false) => "a proxy is trusted (server.trusted_proxies), so clients of other machines would get tokens",
    };
    tracing::info!(event = "demo_off", reason, "demo off");
    false
}

/// Counts for the page, so that it shows derived counters with nothing set. Gateways on one Redis count the same, so there
/// the settings alone say what.
fn count(config: &mut Config) {
    if config.store.hot_store != Backend::Embedded {
        return;
    }
    let added: Vec<_> = config.counters.add_shipped().iter().map(ToString::to_string).collect();
    if !added.is_empty() {
        tracing::info!(
            event = "demo_counters",
            counters = added.join(", "),
            "the demo counts these; set counters.derived to choose others, or none"
        );
    }
}

/// Lets subscribers be at the address of the demo, so that the page can show deliveries with nothing set.
fn receive(config: &mut Config) {
    if !has_receivers(config) {
        return;
    }
    let address = config.server.listen.ip();
    config.subscribers.allow_http = true;
    config.subscribers.allow_networks.push(address.into());
    tracing::info!(event = "demo_receivers", %address, "for the demo, subscribers may use http:// and be at its address");
}

/// Pushes steady positions sooner than the default, where the settings say nothing of it. A gateway with a real key
/// keeps the default, so that a trial shows what production does.
fn push(config: &mut Config) {
    if config.push.steady_interval_is_given || config.demo.issue_tokens_for_any_user_with_the_real_key {
        return;
    }
    // The settings may hold beats back for longer.
    let interval = STEADY_INTERVAL.max(config.store.steady_hold).min(config.push.steady_interval);
    config.push.steady_interval = interval;
    tracing::info!(event = "demo_pushes", ?interval, "for the demo, other devices get steady positions sooner");
}

/// The receivers of the page, if the demo is served. `public`: where it is served.
pub(super) fn receivers(
    config: &Config,
    is_served: bool,
    subscribers: Option<Arc<Subscribers>>,
    public: Option<SocketAddr>,
) -> Option<Arc<Receivers>> {
    let subscribers = subscribers.filter(|_| is_served && has_receivers(config))?;
    Some(Arc::new(Receivers::new(subscribers, public?)))
}

/// On Redis other processes deliver, and no delivery trusts the certificate of a loopback address.
fn has_receivers(config: &Config) -> bool {
    config.store.hot_store == Backend::Embedded && config.server.tls().is_none()
}

/// The feed of delivered history packs, if the demo is served and packs are sent.
pub(super) fn pack_feed(config: &Config, is_served: bool) -> Option<Arc<PackFeed>> {
    (is_served && config.history.is_kept()).then(PackFeed::new)
}

/// The demo as its settings want it.
pub(super) fn build(config: &Config, shown: Shown, stop: Stop, assembly: &mut Assembly) {
    let Shown { key, tail, live, packs, counters, receivers, clock } = shown;
    if key.is_none() {
        tracing::warn!("demo page cannot issue tokens: {SIGNS_NOTHING}");
    }
    let clock = config.demo.clock.then_some(clock);
    let behind_proxies = config.demo.issue_tokens_for_any_user_with_the_real_key;
    let packs = packs.map(PackStreams::new);
    let counters = (!config.counters.derived.is_empty()).then_some(counters);
    assembly.pages.push(Box::new(move |registry| {
        let registry = registry.clone();
        demo::router(DemoContext { key, registry, tail, live, packs, counters, receivers, clock, behind_proxies, stop })
    }));
}
