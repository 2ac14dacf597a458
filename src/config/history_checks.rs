//! Checks of the settings of the history store.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::Config;
use super::checks::Checks;
use storage::config::cassandra::{Replication, is_data_center, is_keyspace};
use storage::event_bus;
use storage::history_bus::MESSAGE_BYTES_MAX;
use storage::history_store::config::{Backend, HistoryConfig, Trim};
use storage::host_port::is_host_port;
use storage::hot_store;

/// With a shorter interval, users would be packed with nearly every beat.
const INTERVAL: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_hours(1);
const HOT_MAX: RangeInclusive<u32> = 2..=1_000_000;
const HOT_IDLE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(24 * 3650);
const PACK_BYTES: RangeInclusive<usize> = 1_024..=MESSAGE_BYTES_MAX;

const COPIES: RangeInclusive<u64> = 1..=100;

impl Checks<'_> {
    pub(super) fn history(&mut self, config: &Config) {
        let is_kept = config.history.is_kept();
        let leaves = config.store.hot_store != hot_store::config::Backend::Embedded;
        let HistoryConfig { interval, pack_bytes, hot_max, hot_keep, hot_idle, .. } = &config.history;
        self.require(INTERVAL.contains(interval), "history.interval", || "must be 100ms to 1h".to_owned());
        self.require(PACK_BYTES.contains(pack_bytes), "history.pack_bytes", || {
            format!("must be {} to {}", PACK_BYTES.start(), PACK_BYTES.end())
        });
        self.require(HOT_MAX.contains(hot_max), "history.hot_max", || {
            format!("must be {} to {}", HOT_MAX.start(), HOT_MAX.end())
        });
        self.require((1..=*hot_max).contains(hot_keep), "history.hot_keep", || {
            format!("must be 1 to history.hot_max ({hot_max})")
        });
        self.require(hot_idle.is_zero() || HOT_IDLE.contains(hot_idle), "history.hot_idle", || {
            "must be 1s to 3650d, or 0s for never".to_owned()
        });
        // At the cap rows go, whether the history store has them or not.
        let trims = is_kept && config.history.trim == Trim::On;
        let fits = *hot_max < config.store.records_per_user.get();
        self.require(!trims || fits, "history.hot_max", || {
            format!(
                "must be less than store.records_per_user ({}) with history.trim = \"on\"",
                config.store.records_per_user
            )
        });
        // Another check reports a missing broker of events that go to Kafka, too.
        let no_broker = config.kafka.brokers.is_empty() && config.events.event_bus != event_bus::config::Backend::Kafka;
        self.require(!is_kept || !no_broker, "kafka.brokers", || {
            "is empty, but history.store is set, and changes go there by Kafka; list a broker".to_owned()
        });
        self.require(!is_kept || leaves, "history.store", || {
            "needs store.hot_store = \"redis\": the embedded hot store keeps everything by itself; set \"none\""
                .to_owned()
        });
    }

    pub(super) fn cassandra(&mut self, config: &Config) {
        let cassandra = &config.cassandra;
        for (index, node) in cassandra.nodes.iter().enumerate() {
            self.require(is_host_port(node), &format!("cassandra.nodes[{index}]"), || {
                format!("expected HOST:PORT such as a.example:9042, got {node:?}")
            });
        }
        let lacks_nodes = config.history.store == Backend::Cassandra && cassandra.nodes.is_empty();
        self.require(!lacks_nodes, "cassandra.nodes", || {
            "is empty, but history.store is \"cassandra\"; list a node, or set history.store = \"none\"".to_owned()
        });
        self.require(is_keyspace(&cassandra.keyspace), "cassandra.keyspace", || {
            format!(
                "{:?} cannot be used; write a letter, and up to 47 lower-case letters, digits and underscores after it",
                cassandra.keyspace
            )
        });
        self.replication(&cassandra.replication);
        let (user, password) = (!cassandra.user.is_empty(), !cassandra.password.is_empty());
        self.require(user || !password, "cassandra.user", || {
            "is empty, but cassandra.password is set; set both or none".to_owned()
        });
        self.require(password || !user, "cassandra.password", || {
            "is empty, but cassandra.user is set; set both or none".to_owned()
        });
    }

    fn replication(&mut self, replication: &Replication) {
        let setting = "cassandra.replication";
        match replication {
            Replication::Each(copies) => {
                self.require(COPIES.contains(copies), setting, || "must be 1 to 100".to_owned());
            }
            Replication::ByDataCenter(copies) => {
                self.require(!copies.is_empty(), setting, || {
                    "names no data center; write { dc1 = 3 }, or a number for all".to_owned()
                });
                for (name, copies) in copies {
                    self.require(is_data_center(name), setting, || {
                        format!(
                            "{name:?} is no name of a data center; use letters, digits, dots, hyphens and underscores"
                        )
                    });
                    self.require(COPIES.contains(copies), setting, || format!("{name}: must be 1 to 100"));
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "history_checks_tests.rs"]
mod tests;
