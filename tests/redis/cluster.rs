//! Three masters of a Cluster.

use std::time::{Duration, Instant};

use heartline::model::shard::Shard;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage_redis::prepare::prepare;
use heartline::storage_redis::{Redis, tag};

use super::server::{Server, free_port, redis_cli, refusal};
use super::{PATIENCE, away, comes_back, count, goes_away, try_count};

pub struct Cluster {
    pub nodes: Vec<Server>,
}

impl Cluster {
    fn start() -> Self {
        let node = |_| {
            let bus = free_port().to_string();
            Server::start(&["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-node-timeout", "2000"])
        };
        let nodes: Vec<_> = (0..3).map(node).collect();
        let addresses: Vec<_> = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        let mut create = vec!["--cluster", "create"];
        create.extend(addresses.iter().map(String::as_str));
        create.push("--cluster-yes");
        redis_cli(&create);
        for node in &nodes {
            // One of them is down does not take the others along.
            node.set("cluster-require-full-coverage", "no");
            while !node.tell::<String>(&["CLUSTER", "INFO"]).contains("cluster_state:ok") {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Cluster { nodes }
    }

    /// One that is prepared.
    pub fn prepared() -> Self {
        let cluster = Self::start();
        prepare(&cluster.config(0)).unwrap();
        cluster
    }

    /// By this one all others are found.
    pub fn config(&self, node: usize) -> RedisConfig {
        RedisConfig::strict(&format!("redis-cluster://127.0.0.1:{}", self.nodes[node].port))
    }

    /// The node that has the shard.
    pub fn of(&self, redis: &Redis, shard: u16) -> usize {
        let home = redis.home(Shard(shard)).unwrap();
        self.nodes.iter().position(|node| home.ends_with(&format!(":{}", node.port))).unwrap()
    }

    /// A shard of this node, other than 1.
    fn shard_on(&self, redis: &Redis, node: usize) -> u16 {
        (2..1000).find(|shard| self.of(redis, *shard) == node).unwrap()
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn all_shards_are_found_through_one_node_and_used_on_their_own_nodes() {
    let cluster = Cluster::start();
    assert!(refusal(&cluster.nodes[0].config()).contains("redis-cluster://"));
    assert!(refusal(&cluster.config(0)).contains("heartline init"));
    prepare(&cluster.config(1)).unwrap();
    let redis = Redis::open(&cluster.config(2)).unwrap();
    let all: Vec<u16> = (0..1000).rev().collect();
    assert_eq!(count(&redis, &all).await, vec![1; 1000]);
    assert_eq!(count(&redis, &all).await, vec![2; 1000]);
    for node in &cluster.nodes {
        let commands: String = node.tell(&["INFO", "commandstats"]);
        assert!(!commands.contains("failed_calls=1,") || commands.contains("evalsha"), "{commands}");
        assert!(node.tell::<u64>(&["DBSIZE"]) > 500);
    }
    let alone = Server::prepared();
    let url = format!("redis-cluster://127.0.0.1:{}", alone.port);
    assert!(refusal(&RedisConfig::strict(&url)).contains("is not a cluster node"));
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn the_users_of_a_node_that_is_down_wait_and_the_others_do_not() {
    let mut cluster = Cluster::start();
    prepare(&cluster.config(0)).unwrap();
    let redis = Redis::open(&cluster.config(0)).unwrap();
    let (down, up) = (cluster.of(&redis, 1), (cluster.of(&redis, 1) + 1) % 3);
    let other = cluster.shard_on(&redis, up);
    count(&redis, &[1, other]).await;
    cluster.nodes[down].kill();
    away(&redis).await;
    // The Cluster takes its time to notice, and then has a moment without an owner.
    comes_back(&redis, other).await;
    assert!(try_count(&redis, &[other, 1]).await.is_err(), "a group that needs both");
    cluster.nodes[down].start_again();
    comes_back(&redis, 1).await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_cluster_opens_without_a_node_that_has_no_shared_keys() {
    let mut cluster = Cluster::prepared();
    let redis = Redis::open(&cluster.config(0)).unwrap();
    let common = cluster.of(&redis, 0);
    let (down, up) = ((common + 1) % 3, (common + 2) % 3);
    let (lost, there) = (cluster.shard_on(&redis, down), cluster.shard_on(&redis, up));
    drop(redis);
    cluster.nodes[down].kill();
    let redis = Redis::open(&cluster.config(up)).unwrap();
    comes_back(&redis, there).await;
    assert!(try_count(&redis, &[lost]).await.is_err());
    assert!(redis.is_connected(Shard(0)) && !redis.is_connected(Shard(lost)));
    cluster.nodes[down].start_again();
    comes_back(&redis, lost).await;
    drop(redis);

    cluster.nodes[down].kill();
    let redis = Redis::open(&cluster.config(up)).unwrap();
    cluster.nodes[down].wipe();
    cluster.nodes[down].start_again();
    let began = Instant::now();
    loop {
        let refused = try_count(&redis, &[lost]).await.expect_err("it has lost its data").to_string();
        if refused.contains("has lost the keys") {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{refused}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!redis.is_connected(Shard(lost)));
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_cluster_does_not_open_without_the_node_of_the_shared_keys() {
    let mut cluster = Cluster::prepared();
    let common = cluster.of(&Redis::open(&cluster.config(0)).unwrap(), 0);
    cluster.nodes[common].kill();
    let refused = Redis::open(&cluster.config((common + 1) % 3)).err().expect("it is away").to_string();
    assert!(refused.contains(&format!(":{}", cluster.nodes[common].port)), "{refused}");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_single_node_with_unsafe_settings_is_refused() {
    let cluster = Cluster::start();
    prepare(&cluster.config(0)).unwrap();
    let redis = Redis::open(&cluster.config(0)).unwrap();
    let node = &cluster.nodes[cluster.of(&redis, 1)];
    node.set("appendfsync", "everysec");
    assert!(refusal(&cluster.config(0)).contains(&format!("-p {} CONFIG SET appendfsync always", node.port)));
    goes_away(&redis).await;
    node.set("appendfsync", "always");
    comes_back(&redis, 1).await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_shard_that_moves_to_another_node_is_followed() {
    let cluster = Cluster::start();
    prepare(&cluster.config(0)).unwrap();
    let redis = Redis::open(&cluster.config(0)).unwrap();
    assert_eq!(count(&redis, &[1]).await, [1]);
    let (from, to) = (cluster.of(&redis, 1), (cluster.of(&redis, 1) + 1) % 3);
    let (source, target) = (&cluster.nodes[from], &cluster.nodes[to]);
    let id = |node: &Server| node.tell::<String>(&["CLUSTER", "MYID"]);
    let slot: u16 = source.tell(&["CLUSTER", "KEYSLOT", &tag(Shard(1))]);
    let slot = slot.to_string();
    target.tell::<()>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(source)]);
    source.tell::<()>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(target)]);
    let keys: Vec<String> = source.tell(&["CLUSTER", "GETKEYSINSLOT", &slot, "100"]);
    for key in &keys {
        source.tell::<()>(&["MIGRATE", "127.0.0.1", &target.port.to_string(), key, "0", "5000"]);
    }
    assert!(try_count(&redis, &[1]).await.is_err(), "it waits while the slot is between two nodes");
    for node in [target, source] {
        node.tell::<()>(&["CLUSTER", "SETSLOT", &slot, "NODE", &id(target)]);
    }
    comes_back(&redis, 1).await;
    assert_eq!(cluster.of(&redis, 1), to);
    assert_eq!(count(&redis, &[1]).await, [3], "what was counted came along");
}
