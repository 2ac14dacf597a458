//! Checks of the settings of Redis.

use super::Config;
use super::checks::Checks;

impl Checks<'_> {
    pub(super) fn redis(&mut self, config: &Config) {
        if let Some(mistake) = config.redis.mistake() {
            self.require(false, "redis.url", || mistake);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{config, good};
    use crate::storage::redis::config::Durability;

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
        ] {
            assert_eq!(good("", &[("HEARTLINE__REDIS__URL", url)]).redis.url.expose(), url);
        }
        assert_eq!(good("", &[]).redis.durability, Durability::Strict);
        assert_eq!(good("[redis]\ndurability = \"relaxed\"", &[]).redis.durability, Durability::Relaxed);
    }

    #[test]
    fn an_unusable_url_is_refused_with_the_reason() {
        assert!(wrong("localhost:6379").starts_with("HEARTLINE__REDIS__URL: is not redis://"));
        assert!(wrong("rediss://a").contains("TLS"));
        assert!(wrong("redis-sentinel://a:1").contains("name of the master"));
        let in_file = config("[redis]\nurl = \"redis://a:x\"", &[]).expect_err("no port");
        assert_eq!(in_file, ["/etc/heartline.toml: redis.url: \"x\" is not a port"]);
        let durability = config("[redis]\ndurability = \"loose\"", &[]).expect_err("no such");
        assert!(
            durability[0].contains("redis.durability: expected \"strict\" or \"relaxed\", got \"loose\""),
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
}
