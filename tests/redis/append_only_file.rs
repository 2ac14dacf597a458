//! When the append-only file of a Redis is in force: appendonly may say yes long before.

use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use heartline::storage::config::redis::{Durability, RedisConfig};
use heartline::storage_redis::prepare;
use heartline::storage_redis::{Redis, RedisRefused};

use super::server::Server;
use super::{PATIENCE, away_because, comes_back, count, goes_away};

/// Keys that a rewrite writes one by one, 1 ms each: about 3 s.
const KEYS: u32 = 3_000;
const DELAY_US: &str = "1000";
const REWRITTEN: Duration = Duration::from_secs(60);
/// A master that sends its data to a replica at once.
const SENDS_AT_ONCE: &[&str] = &["--repl-diskless-sync-delay", "0"];

fn fill(server: &Server) {
    let fill = format!("for n = 1, {KEYS} do redis.call('SET', '{{fill}}' .. n, n) end");
    server.tell::<()>(&["EVAL", &fill, "0"]);
}

/// From now on, in one `CONFIG SET`.
fn rewrite_slowly(server: &Server) {
    server.set("rdb-key-save-delay", DELAY_US);
}

fn rewriting(server: &Server) -> bool {
    server.tell::<String>(&["INFO", "persistence"]).contains("aof_rewrite_in_progress:1")
}

fn wait_until_rewritten(server: &Server) {
    let began = Instant::now();
    while rewriting(server) {
        assert!(began.elapsed() < REWRITTEN, "the rewrite does not end");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Copies all data of the master, after which the replica writes its append-only file anew.
fn follow(replica: &Server, master: &Server) {
    replica.tell::<()>(&["REPLICAOF", "127.0.0.1", &master.port.to_string()]);
    let began = Instant::now();
    while !replica.tell::<String>(&["INFO", "replication"]).contains("master_link_status:up") {
        assert!(began.elapsed() < PATIENCE, "the replica does not get the data of its master");
        thread::sleep(Duration::from_millis(20));
    }
}

fn promote(replica: &Server) {
    replica.tell::<()>(&["REPLICAOF", "NO", "ONE"]);
}

/// What another gateway gets, once it has it.
fn opening(server: &Server) -> Receiver<Result<Redis, RedisRefused>> {
    let (opened, done) = mpsc::sync_channel(1);
    let config = server.config();
    thread::spawn(move || opened.send(Redis::open(&config)));
    done
}

/// Opens it, which must not succeed before the rewrite has ended.
fn open_when_rewritten(server: &Server) -> Redis {
    assert!(rewriting(server));
    let done = opening(server);
    loop {
        let opened = done.try_recv();
        if !rewriting(server) {
            return opened.unwrap_or_else(|_| done.recv_timeout(REWRITTEN).unwrap()).unwrap();
        }
        assert!(opened.is_err(), "opened while a killed Redis would have lost all");
        thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_gateway_waits_until_the_first_rewrite_has_ended() {
    let mut server = Server::start(&["--appendonly", "no"]);
    prepare::prepare(&RedisConfig { durability: Durability::Relaxed, ..server.config() }).unwrap();
    fill(&server);
    rewrite_slowly(&server);
    server.set("appendonly", "yes");
    let redis = open_when_rewritten(&server);
    assert_eq!(count(&redis, &[1]).await, [1]);
    server.kill();
    server.start_again_with(&["--appendonly", "yes"]);
    comes_back(&redis, 1).await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_rewrite_of_a_file_in_force_interrupts_no_command() {
    let server = Server::prepared();
    fill(&server);
    let redis = server.open();
    count(&redis, &[1]).await;
    rewrite_slowly(&server);
    server.tell::<()>(&["BGREWRITEAOF"]);
    let mut counted = 1;
    while rewriting(&server) {
        counted += 1;
        assert_eq!(count(&redis, &[1]).await, [counted]);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(counted > 5, "the rewrite was over too soon to show anything: {counted}");
    // Settings were changed, so a gateway that starts in the middle of it would have waited for its end.
    assert_eq!(count(&server.open(), &[1]).await, [counted + 1]);
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_file_that_was_switched_off_and_on_is_not_in_force_until_it_is_rewritten() {
    let server = Server::prepared();
    fill(&server);
    let redis = server.open();
    count(&redis, &[1]).await;
    rewrite_slowly(&server);
    // Faster than the gateway looks: it never sees "no", and the file of before is still there.
    server.set("appendonly", "no");
    server.set("appendonly", "yes");
    let reason = goes_away(&redis).await;
    assert!(reason.contains("rewrite") && rewriting(&server), "{reason}");
    wait_until_rewritten(&server);
    comes_back(&redis, 1).await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_replica_that_is_promoted_is_not_in_force_until_its_copy_is_rewritten() {
    let master = Server::start(SENDS_AT_ONCE);
    prepare::prepare(&master.config()).unwrap();
    fill(&master);
    // No CONFIG SET: all that shows is the rewrite.
    let mut server = Server::start(&["--rdb-key-save-delay", DELAY_US]);
    follow(&server, &master);
    promote(&server);
    let redis = open_when_rewritten(&server);
    assert_eq!(count(&redis, &[1]).await, [1]);
    server.kill();
    server.start_again();
    comes_back(&redis, 1).await;
    assert_eq!(count(&redis, &[1]).await, [3]);
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn after_a_full_sync_a_file_is_not_in_force_until_rewritten() {
    let server = Server::start(SENDS_AT_ONCE);
    prepare::prepare(&server.config()).unwrap();
    fill(&server);
    server.tell::<()>(&["BGREWRITEAOF"]);
    wait_until_rewritten(&server);
    let other = Server::start(SENDS_AT_ONCE);
    follow(&other, &server);
    promote(&other);
    let redis = server.open();
    // Beyond what the other has, so it can only be sent everything.
    count(&redis, &[1]).await;
    rewrite_slowly(&server);

    follow(&server, &other);
    promote(&server);
    assert!(rewriting(&server));
    let done = opening(&server);
    goes_away(&redis).await;
    away_because(&redis, "rewrite").await;
    let opened = done.try_recv();
    assert!(rewriting(&server), "the rewrite was over too soon to show anything");
    assert!(opened.is_err(), "opened while a killed Redis would have lost all");
    wait_until_rewritten(&server);
    comes_back(&redis, 1).await;
    count(&done.recv_timeout(REWRITTEN).unwrap().unwrap(), &[1]).await;
}
