//! Checks of the servers that gateways share. With drivers: their URLs. Without: that no setting needs a driver.

use super::Config;
use super::checks::Checks;
#[cfg(feature = "fleet")]
use storage::config::redis::{RedisConfig, given};
#[cfg(any(test, not(feature = "fleet")))]
use storage::{event_bus, history_store, hot_store, statistics};

impl Checks<'_> {
    #[cfg(feature = "fleet")]
    pub(super) fn fleet(&mut self, config: &Config) {
        if let Some(mistake) = storage_redis::mistake(config.redis.url.expose()) {
            self.require(false, "redis.url", || mistake);
        } else {
            self.redis_tls(&config.redis);
        }
        let (store, url) = (config.statistics.store, &config.statistics.url);
        let is_used = store == storage::statistics::config::Backend::Mongodb && !url.is_empty();
        if let Some(mistake) = is_used.then(|| storage_mongodb::mistake(url.expose())).flatten() {
            self.require(false, "statistics.url", || mistake);
        }
    }

    #[cfg(feature = "fleet")]
    fn redis_tls(&mut self, redis: &RedisConfig) {
        let RedisConfig { tls_ca, tls_cert, tls_key, .. } = redis;
        let encrypted = storage_redis::is_encrypted(redis.url.expose());
        for (setting, path) in [("redis.tls_ca", tls_ca), ("redis.tls_cert", tls_cert), ("redis.tls_key", tls_key)] {
            self.require(encrypted || given(path).is_none(), setting, || {
                "has no effect: redis.url does not begin with rediss".to_owned()
            });
        }
        for (setting, own, other, missing) in [
            ("redis.tls_cert", tls_cert, tls_key, "redis.tls_key"),
            ("redis.tls_key", tls_key, tls_cert, "redis.tls_cert"),
        ] {
            self.require(given(own).is_none() || given(other).is_some(), setting, || {
                format!("is given without {missing}; set both, or neither")
            });
        }
    }

    #[cfg(not(feature = "fleet"))]
    pub(super) fn fleet(&mut self, config: &Config) {
        self.uses_no_fleet(config);
    }

    #[cfg(any(test, not(feature = "fleet")))]
    fn uses_no_fleet(&mut self, config: &Config) {
        let mut require = |is_built: bool, setting: &str, value: &str| {
            self.require(is_built, setting, || {
                format!("{value:?} needs a build with --features fleet, such as the image")
            });
        };
        match config.store.hot_store {
            hot_store::config::Backend::Embedded => {}
            hot_store::config::Backend::Redis => require(false, "store.hot_store", "redis"),
            hot_store::config::Backend::HistoryService => require(false, "store.hot_store", "history-service"),
        }
        let in_kafka = config.events.event_bus == event_bus::config::Backend::Kafka;
        require(!in_kafka, "events.event_bus", "kafka");
        require(config.history.store != history_store::config::Backend::Cassandra, "history.store", "cassandra");
        let in_mongodb = config.statistics.store == statistics::config::Backend::Mongodb;
        require(!in_mongodb, "statistics.store", "mongodb");
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::Checks;
    use super::super::layers::Layers;
    use super::super::tests::{config, good};
    use storage::config::redis::Durability;

    fn wrong(url: &str) -> String {
        let problems = config("", &[("HEARTLINE__REDIS__URL", url)]).expect_err(url);
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems.into_iter().next().expect("one problem")
    }

    #[test]
    fn servers_clusters_and_masters_are_named_by_a_url() {
        for url in [
            "redis://me:hunter2@10.0.0.5:7000/1",
            "redis-cluster://10.0.0.5:7000,10.0.0.6",
            "redis-sentinel://:hunter2@10.0.0.5,10.0.0.6/mymaster",
            "rediss://me:hunter2@redis.example:7000",
            "rediss-cluster://10.0.0.5:7000,10.0.0.6",
            "rediss-sentinel://10.0.0.5,10.0.0.6/mymaster",
        ] {
            assert_eq!(good("", &[("HEARTLINE__REDIS__URL", url)]).redis.url.expose(), url);
        }
        assert_eq!(good("", &[]).redis.durability, Durability::Strict);
        assert_eq!(good("[redis]\ndurability = \"relaxed\"", &[]).redis.durability, Durability::Relaxed);
        assert_eq!(good("[redis]\ndurability = \"managed\"", &[]).redis.durability, Durability::Managed);
    }

    #[test]
    fn files_of_tls_need_an_url_with_tls_and_each_other() {
        let problems = |url: &str, files: &[(&str, &str)]| {
            let variables = files.iter().map(|(name, path)| (format!("HEARTLINE__REDIS__{name}"), *path));
            let variables: Vec<_> = variables.chain([("HEARTLINE__REDIS__URL".to_owned(), url)]).collect();
            let variables: Vec<_> = variables.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            config("", &variables).err().unwrap_or_default()
        };
        let all = [("TLS_CA", "/ca"), ("TLS_CERT", "/cert"), ("TLS_KEY", "/key")];
        for url in ["rediss://a", "rediss-cluster://a", "rediss-sentinel://a/m"] {
            assert_eq!(problems(url, &all), [""; 0]);
            assert_eq!(problems(url, &all[..1]), [""; 0]);
        }
        let told = problems("redis://a", &all);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told.iter().all(|line| line.contains("has no effect")), "{told:?}");
        let told = problems("rediss://a", &all[1..2]);
        assert_eq!(told, ["HEARTLINE__REDIS__TLS_CERT: is given without redis.tls_key; set both, or neither"]);
        let told = problems("rediss://a", &all[2..]);
        assert_eq!(told, ["HEARTLINE__REDIS__TLS_KEY: is given without redis.tls_cert; set both, or neither"]);
    }

    #[test]
    fn an_unusable_url_is_refused_with_the_reason() {
        assert!(wrong("localhost:6379").starts_with("HEARTLINE__REDIS__URL: is not redis://"));
        assert!(wrong("redis-sentinel://a:1").contains("name of the master"));
        let in_file = config("[redis]\nurl = \"redis://a:x\"", &[]).expect_err("no port");
        assert_eq!(in_file, ["/etc/heartline.toml: redis.url: \"x\" is not a port"]);
        let durability = config("[redis]\ndurability = \"loose\"", &[]).expect_err("no such");
        assert!(
            durability[0].contains("redis.durability: expected \"strict\", \"relaxed\" or \"managed\", got \"loose\""),
            "{durability:?}"
        );
    }

    #[test]
    fn its_password_is_in_no_message() {
        for url in
            ["redis://me:hunter2@a:x", "http://me:hunter2@a", "redis://me:hunter2@", "redis-sentinel://:hunter2@a"]
        {
            assert!(!wrong(url).contains("hunter2"), "{}", wrong(url));
        }
        let config = good("", &[("HEARTLINE__REDIS__URL", "redis://me:hunter2@a")]);
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn a_build_without_drivers_names_what_it_lacks() {
        let mut config = good("", &[]);
        let wrong = |config: &_| {
            let layers = Layers::defaults();
            let mut checks = Checks::new(&layers);
            checks.uses_no_fleet(config);
            checks.into_problems().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(wrong(&config), [""; 0]);
        config.store.hot_store = storage::hot_store::config::Backend::Redis;
        config.events.event_bus = storage::event_bus::config::Backend::Kafka;
        config.history.store = storage::history_store::config::Backend::Cassandra;
        config.statistics.store = storage::statistics::config::Backend::Mongodb;
        let said = |setting: &str, value: &str| {
            format!("{setting}: {value:?} needs a build with --features fleet, such as the image")
        };
        assert_eq!(
            wrong(&config),
            [
                said("store.hot_store", "redis"),
                said("events.event_bus", "kafka"),
                said("history.store", "cassandra"),
                said("statistics.store", "mongodb"),
            ]
        );
        config.store.hot_store = storage::hot_store::config::Backend::HistoryService;
        assert_eq!(wrong(&config)[0], said("store.hot_store", "history-service"));
    }
}
