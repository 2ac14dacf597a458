//! Whether totals and days can be kept where the settings say.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::Config;
use super::checks::Checks;
use storage::hot_store;
use storage::statistics::config::{Backend, is_database};

/// Above it, sums would fill their shards.
const FLUSH_INTERVAL: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_mins(1);

impl Checks<'_> {
    pub(super) fn statistics(&mut self, config: &Config) {
        let on_redis = config.store.hot_store == hot_store::config::Backend::Redis;
        let in_mongodb = config.statistics.store == Backend::Mongodb;
        let embedded = config.store.hot_store == hot_store::config::Backend::Embedded;
        self.require(!embedded || !in_mongodb, "statistics.store", || {
            "\"mongodb\" needs store.hot_store = \"redis\": the embedded hot store keeps totals and days by itself; set \
             \"embedded\""
                .to_owned()
        });
        // The defaults are for the embedded hot store. On Redis they mean nothing, and the log says so.
        for (setting, kinds) in
            [("views.by_playback", &config.views.by_playback), ("views.by_request", &config.views.by_request)]
        {
            let asked_for = self.is_given(setting) && !kinds.is_empty();
            self.require(!on_redis || in_mongodb || !asked_for, setting, || {
                format!(
                    "with store.hot_store = \"redis\" views are counted with statistics.store = \"mongodb\" only; set it \
                     and statistics.url, or set {setting} = []"
                )
            });
        }
        self.mongodb(config, in_mongodb);
        self.require(FLUSH_INTERVAL.contains(&config.counters.flush_interval), "counters.flush_interval", || {
            "must be 100ms to 1m".to_owned()
        });
    }

    fn mongodb(&mut self, config: &Config, is_used: bool) {
        let statistics = &config.statistics;
        let has_url = !statistics.url.is_empty();
        self.require(has_url || !is_used, "statistics.url", || {
            "is empty, but statistics.store is \"mongodb\"; write mongodb://HOST:PORT".to_owned()
        });
        self.require(is_used || !has_url, "statistics.url", || {
            "is set, but statistics.store is \"embedded\"; set that to \"mongodb\", or remove the URL".to_owned()
        });
        self.require(is_database(&statistics.database), "statistics.database", || {
            format!(
                "{:?} cannot be used; write 1 to 63 bytes without spaces and without / \\ . \" $ * < > : | ?, and none of \
                 admin, config and local",
                statistics.database
            )
        });
    }
}

#[cfg(test)]
#[path = "statistics_checks_tests.rs"]
mod tests;
