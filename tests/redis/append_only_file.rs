//! When the append-only file of a Redis is in force: appendonly may say yes long before.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use heartline::storage::redis::Redis;
use heartline::storage::redis::config::{Durability, RedisConfig};
use heartline::storage::redis::prepare;

use super::server::Server;
use super::{comes_back, count, goes_away};

/// Keys that a rewrite writes one by one, 1 ms each: about 3 s.
const KEYS: u32 = 3_000;
const DELAY_US: &str = "1000";
const REWRITTEN: Duration = Duration::from_secs(60);

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

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_gateway_waits_until_the_first_rewrite_has_ended() {
    let mut server = Server::start(&["--appendonly", "no"]);
    prepare::prepare(&RedisConfig { durability: Durability::Relaxed, ..server.config() }).unwrap();
    fill(&server);
    rewrite_slowly(&server);
    server.set("appendonly", "yes");
    assert!(rewriting(&server));

    let (opened, done) = mpsc::sync_channel(1);
    let config = server.config();
    thread::spawn(move || opened.send(Redis::open(&config)));
    let redis = loop {
        let opened = done.try_recv();
        if !rewriting(&server) {
            break opened.unwrap_or_else(|_| done.recv_timeout(REWRITTEN).unwrap()).unwrap();
        }
        assert!(opened.is_err(), "opened while a killed Redis would have lost all");
        thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(count(&redis, &[1]).await, [1]);
    server.kill();
    server.start_again_with(&["--appendonly", "yes"]);
    comes_back(&redis, 1).await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_rewrite_of_a_file_in_force_disturbs_nobody() {
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
