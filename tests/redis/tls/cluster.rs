//! A Cluster with TLS, its nodes known by address or by name.

use std::time::Duration;

use heartline::model::shard::Shard;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage_redis::prepare::prepare;
use heartline::storage_redis::{Redis, tag};

use super::authority::{ADDRESS, Authority, VALID, text};
use super::server::Encrypted;
use crate::redis::server::{free_port, redis_cli};
use crate::redis::{comes_back, count, try_count};

struct Cluster {
    nodes: Vec<Encrypted>,
    host: &'static str,
    config: RedisConfig,
}

impl Cluster {
    /// Certificates are for this host only, and nodes name it for each other.
    fn start(authority: &Authority, host: &'static str) -> Self {
        let signed = authority.sign(host, VALID);
        let node = |_| {
            let bus = free_port().to_string();
            let mut more = vec!["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-node-timeout", "2000"];
            more.extend(["--tls-cluster", "yes", "--cluster-require-full-coverage", "no"]);
            if host != ADDRESS {
                more.extend(["--cluster-announce-hostname", host, "--cluster-preferred-endpoint-type", "hostname"]);
            }
            Encrypted::start_with(authority, &signed, &more)
        };
        let nodes: Vec<_> = (0..3).map(node).collect();
        let addresses: Vec<_> = nodes.iter().map(|node| format!("{ADDRESS}:{}", node.port)).collect();
        let file = authority.file();
        let mut create = vec!["--tls", "--cacert", text(&file), "--cluster", "create"];
        create.extend(addresses.iter().map(String::as_str));
        create.push("--cluster-yes");
        redis_cli(&create);
        for node in &nodes {
            while !node.server.tell::<String>(&["CLUSTER", "INFO"]).contains("cluster_state:ok") {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        let config = nodes[0].config(&format!("rediss-cluster://{host}:{}", nodes[0].port), &file);
        prepare(&config).unwrap();
        Cluster { nodes, host, config }
    }

    /// The node that has the shard.
    fn of(&self, redis: &Redis, shard: u16) -> usize {
        let home = redis.home(Shard(shard)).unwrap();
        let (host, port) = home.rsplit_once(':').unwrap();
        assert_eq!(host, self.host, "as the certificate says");
        self.nodes.iter().position(|node| node.port.to_string() == port).expect("a port with TLS")
    }
}

async fn all_shards_are_served_with_tls(host: &'static str) {
    let authority = Authority::new();
    let cluster = Cluster::start(&authority, host);
    let redis = Redis::open(&cluster.config).unwrap();
    let all: Vec<u16> = (0..1000).collect();
    assert_eq!(count(&redis, &all).await, vec![1; 1000]);
    let homes: std::collections::BTreeSet<_> = all.iter().map(|shard| cluster.of(&redis, *shard)).collect();
    assert_eq!(homes.len(), 3);
    assert!(cluster.nodes.iter().all(|node| node.connections() >= 2));
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn nodes_are_checked_by_their_address() {
    all_shards_are_served_with_tls(ADDRESS).await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn nodes_are_checked_by_the_name_that_they_announce() {
    all_shards_are_served_with_tls("localhost").await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_shard_that_moves_and_a_node_that_comes_back_are_followed_with_tls() {
    let authority = Authority::new();
    let mut cluster = Cluster::start(&authority, ADDRESS);
    let redis = Redis::open(&cluster.config).unwrap();
    assert_eq!(count(&redis, &[1]).await, [1]);
    let (from, to) = (cluster.of(&redis, 1), (cluster.of(&redis, 1) + 1) % 3);
    let (source, target) = (&cluster.nodes[from], &cluster.nodes[to]);
    let id = |node: &Encrypted| node.server.tell::<String>(&["CLUSTER", "MYID"]);
    let slot: u16 = source.server.tell(&["CLUSTER", "KEYSLOT", &tag(Shard(1))]);
    let slot = slot.to_string();
    target.server.tell::<()>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(source)]);
    source.server.tell::<()>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(target)]);
    let keys: Vec<String> = source.server.tell(&["CLUSTER", "GETKEYSINSLOT", &slot, "100"]);
    for key in &keys {
        source.server.tell::<()>(&["MIGRATE", ADDRESS, &target.port.to_string(), key, "0", "5000"]);
    }
    for node in [target, source] {
        node.server.tell::<()>(&["CLUSTER", "SETSLOT", &slot, "NODE", &id(target)]);
    }
    comes_back(&redis, 1).await;
    assert_eq!(cluster.of(&redis, 1), to);

    cluster.nodes[to].server.kill();
    assert!(try_count(&redis, &[1]).await.is_err());
    cluster.nodes[to].server.start_again();
    comes_back(&redis, 1).await;
    assert!(cluster.nodes[to].connections() >= 2);
}
