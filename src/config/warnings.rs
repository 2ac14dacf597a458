//! Settings that are accepted, and that an operator may not have meant.

use std::time::Duration;

use ipnet::IpNet;

use super::Config;
use super::checks::Checks;
use super::error::Problem;
use super::layers::Layers;
use storage::config::redis::Durability;
use storage::event_bus::config::Backend as Bus;
use storage::hot_store::config::Backend as HotStore;
use storage::statistics::config::Backend as Statistics;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// Each with the setting to look at.
pub(super) fn warnings(config: &Config, layers: &Layers) -> Vec<Problem> {
    let mut checks = Checks::new(layers);
    checks.short_retention(config);
    checks.trust_in_everybody(config);
    checks.wrong_clocks(config);
    checks.tokens_of_the_demo(config);
    checks.acks_from_memory(config);
    checks.open_calls(config);
    let mut warnings = checks.into_problems();
    warnings.extend(unused(config, layers));
    warnings
}

impl Checks<'_> {
    fn short_retention(&mut self, config: &Config) {
        let retention = config.store.retention;
        self.require(retention >= DAY, "store.retention", || {
            format!(
                "{} is less than a day; older positions are removed for good",
                humantime::format_duration(retention)
            )
        });
    }

    fn trust_in_everybody(&mut self, config: &Config) {
        let networks: Vec<IpNet> = config.server.trusted_proxies.iter().map(|proxy| proxy.0).collect();
        let everybody = IpNet::aggregate(&networks).into_iter().find(|network| network.prefix_len() == 0);
        if let Some(everybody) = everybody {
            self.require(false, "server.trusted_proxies", || {
                format!(
                    "trusts every address ({everybody}), so any client may claim any address; list only the networks of \
                     your proxies"
                )
            });
        }
    }

    fn wrong_clocks(&mut self, config: &Config) {
        let step = config.store.clock_step_max;
        self.require(step <= HOUR, "store.clock_step_max", || {
            format!(
                "{} is more than an hour; a wrong clock is trusted, and beats with the right time are refused after it",
                humantime::format_duration(step)
            )
        });
        let embedded = config.store.hot_store == HotStore::Embedded;
        let accepts = embedded && config.store.accept_clock_before_store;
        self.require(!accepts, "store.accept_clock_before_store", || {
            "is true, so a wrong clock is trusted at every start; set it for one start only".to_owned()
        });
    }

    fn tokens_of_the_demo(&mut self, config: &Config) {
        let demo = &config.demo;
        let setting = "demo.issue_tokens_for_any_user_with_the_real_key";
        self.require(!demo.enabled || !demo.issue_tokens_for_any_user_with_the_real_key, setting, || {
            "is true, so anybody who reaches the demo, also through a proxy, gets a token for any user; never set it \
             where there are real users"
                .to_owned()
        });
    }

    fn acks_from_memory(&mut self, config: &Config) {
        let is_relaxed = config.store.hot_store == HotStore::Redis && config.redis.durability == Durability::Relaxed;
        self.require(!is_relaxed, "redis.durability", || {
            "is \"relaxed\", so a crash of Redis may lose acknowledged positions, rewards and counts; set \"strict\" unless \
             they may be lost"
                .to_owned()
        });
    }

    fn open_calls(&mut self, config: &Config) {
        let Some(address) = config.grpc.listen.0 else { return };
        let is_plain = config.grpc.tls().is_none() && !address.ip().is_loopback();
        self.require(!is_plain, "grpc.listen", || {
            format!(
                "{address} is not a loopback address, and there is no TLS: the network can read tokens that act for any \
                 user; set grpc.tls_cert and grpc.tls_key, or listen on a private network only"
            )
        });
    }
}

/// Settings that only one choice of a store uses.
struct Group {
    /// Whether the store is chosen.
    is_used: bool,
    /// Settings, or sections with their dot.
    names: &'static [&'static str],
    /// The choice that leaves them without effect.
    otherwise: &'static str,
}

/// Settings of a store that is not chosen, one line for each store. A setting that is given its default is left out: a
/// file may be a copy of all defaults.
fn unused(config: &Config, layers: &Layers) -> Vec<Problem> {
    let of_group = |Group { is_used, names, otherwise }: Group| {
        let is_of_it = |setting: &&String| names.iter().any(|name| is_named(setting, name));
        let changed = layers.settings().filter(is_of_it).filter(|setting| layers.is_changed(setting));
        let places: Vec<_> = changed.map(|setting| layers.place(setting)).collect();
        let is_known = !layers.names_broken(otherwise);
        (!is_used && is_known && !places.is_empty())
            .then(|| Problem::new(places.join(", "), format!("not used, because {otherwise}")))
    };
    groups(config).into_iter().filter_map(of_group).collect()
}

fn groups(config: &Config) -> [Group; 8] {
    let (on_redis, hot_store) = match config.store.hot_store {
        HotStore::Embedded => (false, "store.hot_store is \"embedded\""),
        HotStore::Redis => (true, "store.hot_store is \"redis\""),
        HotStore::HistoryService => (false, "store.hot_store is \"history-service\""),
    };
    let is_remote = config.store.hot_store == HotStore::HistoryService;
    let in_kafka = config.events.event_bus == Bus::Kafka;
    let has_history = config.history.is_kept();
    let group = |is_used, names, otherwise| Group { is_used, names, otherwise };
    [
        group(on_redis, &["redis."], hot_store),
        group(is_remote, &["history_service."], hot_store),
        group(!on_redis && !is_remote, &["store.cache_bytes", "store.accept_clock_before_store"], hot_store),
        group(
            !on_redis || !in_kafka,
            &["store.prune_interval"],
            "store.hot_store is \"redis\" and events.event_bus is \"kafka\"",
        ),
        group(!in_kafka, &["events.retention_bytes"], "events.event_bus is \"kafka\""),
        group(in_kafka || has_history, &["kafka."], "events.event_bus is \"embedded\" and history.store is \"none\""),
        group(has_history, &["history.", "cassandra."], "history.store is \"none\""),
        group(
            config.statistics.store == Statistics::Mongodb,
            &["statistics.database"],
            "statistics.store is \"embedded\"",
        ),
    ]
}

/// `name`: a setting, or a section with its dot.
fn is_named(setting: &str, name: &str) -> bool {
    if name.ends_with('.') { setting.starts_with(name) } else { setting == name }
}

#[cfg(test)]
#[path = "warnings_tests.rs"]
mod tests;
