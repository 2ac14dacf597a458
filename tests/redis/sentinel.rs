//! A master that Sentinel names.

use std::time::{Duration, Instant};

use heartline::storage::config::redis::RedisConfig;
use heartline::storage_redis::prepare::prepare;
use heartline::storage_redis::{Redis, RedisRefused};

use super::server::Server;
use super::{away_because, comes_back, count, goes_away};

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn the_new_master_is_found_after_a_failover_and_is_checked() {
    let mut master = Server::start(&[]);
    let replica = Server::start(&["--replicaof", &format!("127.0.0.1 {}", master.port)]);
    let watch = format!(
        "sentinel monitor mymaster 127.0.0.1 {} 2\nsentinel down-after-milliseconds mymaster 1000\n\
         sentinel failover-timeout mymaster 3000\n",
        master.port
    );
    let sentinels: Vec<_> = (0..3).map(|_| Server::sentinel(&watch)).collect();
    let hosts: Vec<_> = sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port)).collect();
    let config = RedisConfig::strict(&format!("redis-sentinel://{}/mymaster", hosts.join(",")));
    let unknown = RedisConfig::strict(&format!("redis-sentinel://{}/other", hosts.join(",")));
    let Err(refused) = Redis::open(&unknown) else { panic!("no sentinel knows this master") };
    assert!(matches!(&refused, RedisRefused::Unreachable(why) if why.contains("\"other\"")), "{refused}");

    prepare(&config).unwrap();
    let redis = Redis::open(&config).unwrap();
    count(&redis, &[1, 2]).await;
    let written = offset(&master);
    while !sentinels[0].tell::<String>(&["SENTINEL", "CKQUORUM", "mymaster"]).starts_with("OK 3")
        || sentinels[0].tell::<Vec<Vec<String>>>(&["SENTINEL", "REPLICAS", "mymaster"]).is_empty()
        || offset(&replica) < written
        || replica.tell::<u64>(&["DBSIZE"]) < master.tell::<u64>(&["DBSIZE"])
    {
        std::thread::sleep(Duration::from_millis(50));
    }
    // The one that follows does not sync what it acks: it is not taken before it does.
    replica.set("appendfsync", "everysec");
    let began = Instant::now();
    master.kill();
    goes_away(&redis).await;
    // A replica that becomes the master closes its connections.
    while !replica.try_to_tell::<String>(&["INFO", "replication"]).is_ok_and(|told| told.contains("role:master")) {
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("there is a new master after {:?}", began.elapsed());
    away_because(&redis, &format!("-p {} CONFIG SET appendfsync always", replica.port)).await;
    replica.set("appendfsync", "always");
    let took = comes_back(&redis, 1).await;
    println!("it is used {took:?} after it was mended");
    assert_eq!(count(&redis, &[1]).await, [3], "what was counted is there");
}

/// How far a server is in what is replicated.
fn offset(server: &Server) -> u64 {
    let told: String = server.tell(&["INFO", "replication"]);
    let offset = told.lines().find_map(|line| line.strip_prefix("master_repl_offset:"));
    offset.expect("an offset").trim().parse().expect("a number")
}
