//! The settings that a Redis must have.

use heartline::storage::config::redis::{Durability, RedisConfig};
use heartline::storage_redis::prepare;

use super::server::{Server, refusal};
use super::{comes_back, count, goes_away};

fn relaxed(server: &Server) -> RedisConfig {
    RedisConfig { durability: Durability::Relaxed, ..server.config() }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_server_that_may_lose_commits_is_refused_unless_relaxed() {
    let server = Server::prepared();
    for (name, value, wanted) in
        [("appendonly", "no", "yes"), ("appendfsync", "everysec", "always"), ("no-appendfsync-on-rewrite", "yes", "no")]
    {
        server.set(name, value);
        let told = server.refusal();
        let mends = format!("redis-cli -h 127.0.0.1 -p {} CONFIG SET {name} {wanted}", server.port);
        assert!(told.contains(&mends) && told.lines().count() == 1, "{told}");
        assert!(prepare::prepare(&server.config()).is_err(), "nothing is prepared that would not be served");
        count(&heartline::storage_redis::Redis::open(&relaxed(&server)).unwrap(), &[1]).await;
        // As the message says.
        let (_, line) = mends.split_once("redis-cli ").unwrap();
        super::server::redis_cli(&line.split(' ').collect::<Vec<_>>());
        server.open();
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_server_that_evicts_keys_is_refused_even_if_relaxed() {
    let server = Server::prepared();
    server.set("maxmemory", "1gb");
    server.set("maxmemory-policy", "allkeys-lru");
    for config in [server.config(), relaxed(&server)] {
        assert!(refusal(&config).contains("maxmemory-policy noeviction"), "{}", refusal(&config));
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_setting_made_unsafe_at_runtime_stops_writes_until_it_is_restored() {
    let server = Server::prepared();
    let redis = server.open();
    count(&redis, &[1]).await;
    for (name, bad, good) in [("appendfsync", "no", "always"), ("maxmemory-policy", "allkeys-lru", "noeviction")] {
        server.set("maxmemory", "1gb");
        server.set(name, bad);
        let reason = goes_away(&redis).await;
        assert!(reason.contains(name), "{reason}");
        server.set(name, good);
        comes_back(&redis, 1).await;
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_redis_user_without_config_get_is_refused_when_strict() {
    let server = Server::prepared();
    server.tell::<()>(&["ACL", "SETUSER", "gateway", "on", ">p@ss", "~*", "&*", "+@all", "-config"]);
    let url = format!("redis://gateway:p%40ss@127.0.0.1:{}", server.port);
    let told = refusal(&RedisConfig::strict(&url));
    assert!(told.contains("CONFIG GET") && told.contains("+config|get"), "{told}");
    server.tell::<()>(&["ACL", "SETUSER", "gateway", "+config|get"]);
    count(&heartline::storage_redis::Redis::open(&RedisConfig::strict(&url)).unwrap(), &[1]).await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_refused_login_is_reported_without_its_password() {
    let server = Server::prepared();
    server.set("requirepass", "right");
    for login in ["", ":wrong-one@", "nobody:wrong-one@"] {
        let told = refusal(&RedisConfig::strict(&format!("redis://{login}127.0.0.1:{}", server.port)));
        assert!(told.contains("does not let this user in") && !told.contains("wrong-one"), "{told}");
    }
    let url = format!("redis://:right@127.0.0.1:{}", server.port);
    count(&heartline::storage_redis::Redis::open(&RedisConfig::strict(&url)).unwrap(), &[1]).await;
}
