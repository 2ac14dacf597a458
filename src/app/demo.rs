//! Whether the demo is served: it issues a token for any user to every client that reaches it.

use std::sync::Arc;

use super::assembly::Assembly;
use crate::config::Config;
use crate::domain::history_packs::feed::PackFeed;
use crate::edge::auth::SigningKey;
use crate::edge::auth::key::SIGNS_NOTHING;
use crate::edge::control::events::Tail;
use crate::edge::control::live::LiveRoutes;
use crate::edge::demo::{self, DemoContext, PackStreams, RewardsClock};
use crate::shutdown::Stop;

/// What it shows of other parts.
pub(super) struct Shown {
    pub key: Option<Arc<SigningKey>>,
    pub tail: Tail,
    pub live: Arc<LiveRoutes>,
    pub packs: Option<Arc<PackFeed>>,
    pub clock: RewardsClock,
}

/// False, and said in the log, where clients other than a developer at this machine may reach it or its tokens open
/// real data.
pub(super) fn is_served(config: &Config) -> bool {
    let demo = &config.demo;
    if !demo.enabled || demo.issue_tokens_for_any_user_with_the_real_key {
        return demo.enabled;
    }
    let key = !config.auth.hs256_secret.is_empty() || config.auth.jwks_file().is_some();
    let reason = match (key, config.server.trusted_proxies.is_empty()) {
        (false, true) => return true,
        (true, _) => "a key is configured, and the demo would issue tokens for any user with it",
        (false, false) => "a proxy is trusted (server.trusted_proxies), so clients of other machines would get tokens",
    };
    tracing::info!(event = "demo_off", reason, "demo off");
    false
}

/// The feed of delivered history packs, if the demo is served and packs are sent.
pub(super) fn pack_feed(config: &Config, is_served: bool) -> Option<Arc<PackFeed>> {
    (is_served && config.history.is_kept()).then(PackFeed::new)
}

/// The demo as its settings want it.
pub(super) fn build(config: &Config, shown: Shown, stop: Stop, assembly: &mut Assembly) {
    let Shown { key, tail, live, packs, clock } = shown;
    if key.is_none() {
        tracing::warn!("demo page cannot issue tokens: {SIGNS_NOTHING}");
    }
    let clock = config.demo.clock.then_some(clock);
    let behind_proxies = config.demo.issue_tokens_for_any_user_with_the_real_key;
    let packs = packs.map(PackStreams::new);
    assembly.pages.push(Box::new(move |registry| {
        let registry = registry.clone();
        demo::router(DemoContext { key, registry, tail, live, packs, clock, behind_proxies, stop })
    }));
}
