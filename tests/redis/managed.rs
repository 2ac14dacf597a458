//! A Redis of a provider, which does not answer for its settings.

use heartline::storage::config::redis::{Durability, RedisConfig};
use heartline::storage_redis::Redis;
use heartline::storage_redis::prepare::prepare;

use super::count;
use super::server::{Server, refusal};
use crate::support::{MID, TestGateway, beat, run};

fn managed(url: &str) -> RedisConfig {
    RedisConfig { durability: Durability::Managed, ..RedisConfig::strict(url) }
}

/// It is refused when strict, for this reason, and serves when managed.
async fn serves_when_managed(server: &Server, url: &str) {
    let told = refusal(&RedisConfig::strict(url));
    assert!(told.contains("CONFIG GET") && told.contains("\"managed\""), "{told}");
    prepare(&managed(url)).unwrap();
    let redis = Redis::open(&managed(url)).unwrap();
    count(&redis, &[1, 2, 3]).await;
    let asked: String = server.tell(&["INFO", "commandstats"]);
    let of_strict = asked.matches("cmdstat_config").count();
    assert!(of_strict <= 1, "only the start that was refused: {asked}");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_user_who_may_not_ask_for_settings_is_served() {
    let server = Server::start(&[]);
    server.tell::<()>(&["ACL", "SETUSER", "gateway", "on", ">p@ss", "~*", "&*", "+@all", "-config"]);
    serves_when_managed(&server, &format!("redis://gateway:p%40ss@127.0.0.1:{}", server.port)).await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_server_without_the_command_is_served() {
    for name in ["", "settings-of-the-provider"] {
        let server = Server::start(&["--rename-command", "CONFIG", name]);
        serves_when_managed(&server, &server.url()).await;
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_server_that_says_nothing_of_itself_is_served() {
    let server = Server::start(&[]);
    server.tell::<()>(&["ACL", "SETUSER", "gateway", "on", ">word", "~*", "&*", "+@all", "-config", "-info"]);
    let url = format!("redis://gateway:word@127.0.0.1:{}", server.port);
    prepare(&managed(&url)).unwrap();
    count(&Redis::open(&managed(&url)).unwrap(), &[1]).await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_server_that_evicts_keys_or_is_a_replica_is_refused() {
    let server = Server::start(&["--maxmemory", "1gb", "--maxmemory-policy", "volatile-lru"]);
    let told = refusal(&managed(&server.url()));
    assert!(told.contains("maxmemory-policy \"volatile-lru\"") && told.contains("parameter group"), "{told}");
    let replica = Server::start(&["--replicaof", &format!("127.0.0.1 {}", server.port)]);
    let told = refusal(&managed(&replica.url()));
    assert!(told.contains("is a replica") && told.contains(&server.url()), "{told}");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_start_says_what_an_ack_means() {
    let server = Server::start(&["--appendonly", "no"]);
    let url = server.url();
    let settings = [("store.hot_store", "redis"), ("redis.url", &*url), ("redis.durability", "managed")];
    let done = run(&["init"], &settings);
    assert!(done.status.success(), "{done:?}");
    let gateway = TestGateway::embedded(&settings);
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(1, at)]).await;
    assert_eq!(client.position(1).await, Some(10_000));
    let log = gateway.log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("redis_managed")).collect();
    assert!(lines.len() == 1 && lines[0].contains("it has no append-only file; it has no replica"), "{log}");
}
