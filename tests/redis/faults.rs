//! Faults of a Redis: unreachable, killed, stalled, demoted.

use std::time::{Duration, Instant};

use heartline::domain::time::clock;
use heartline::model::shard::Shard;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage_redis::{Redis, RedisRefused};

use super::server::{Server, free_port};
use super::{LOOK_EVERY, PATIENCE, ask_count, away, away_because, comes_back, count, goes_away};

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_server_that_does_not_exist_is_reported_as_unreachable() {
    let url = format!("redis://:secret@127.0.0.1:{}", free_port());
    let Err(refused) = Redis::open(&RedisConfig::strict(&url)) else { panic!("no server listens there") };
    assert!(matches!(refused, RedisRefused::Unreachable(_)), "{refused}");
    assert!(!refused.to_string().contains("secret"), "{refused}");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_killed_server_is_unavailable_and_returns_with_its_data() {
    let mut server = Server::prepared();
    let redis = server.open();
    count(&redis, &[1, 2, 3]).await;
    server.kill();
    let began = Instant::now();
    away(&redis).await;
    assert!(ask_count(&redis, 1).await.is_err());
    // Nothing was waited for: what does not answer is given up after two seconds or more.
    assert!(began.elapsed() < Duration::from_millis(1_900), "{:?}", began.elapsed());
    server.start_again();
    // The script has to be loaded anew.
    let took = comes_back(&redis, 1).await;
    assert_eq!(ask_count(&redis, 1).await.unwrap(), 2);
    println!("back after {took:?}");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_stalled_server_is_given_up_and_reconnected() {
    let server = Server::prepared();
    let redis = server.open();
    count(&redis, &[1]).await;
    server.signal("STOP");
    let began = Instant::now();
    goes_away(&redis).await;
    let given_up = began.elapsed();
    assert!(given_up >= Duration::from_secs(2), "{given_up:?}");
    let began = Instant::now();
    for _ in 0..1_000 {
        away(&redis).await;
    }
    assert!(began.elapsed() < 10 * given_up, "1,000 calls wait for {:?}", began.elapsed());
    server.signal("CONT");
    comes_back(&redis, 1).await;
    // Whatever was waiting in the former connection.
    assert!((2..10).contains(&ask_count(&redis, 1).await.unwrap()));
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn scripts_that_are_flushed_are_loaded_again_in_the_middle_of_a_group() {
    let server = Server::prepared();
    let redis = server.open();
    for round in 1..=20 {
        server.tell::<()>(&["SCRIPT", "FLUSH"]);
        let counted = tokio::join!(count(&redis, &[1, 2, 3]), count(&redis, &[4, 5, 6]));
        assert_eq!(counted, (vec![round; 3], vec![round; 3]), "once each");
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn connections_that_are_cut_are_opened_again() {
    let server = Server::prepared();
    let redis = server.open();
    for _ in 0..5 {
        count(&redis, &[1]).await;
        server.tell::<()>(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        comes_back(&redis, 1).await;
        comes_back(&redis, 2).await;
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_server_that_became_a_replica_takes_no_writes() {
    let (server, other) = (Server::prepared(), Server::prepared());
    let redis = server.open();
    count(&redis, &[1]).await;
    server.tell::<()>(&["REPLICAOF", "127.0.0.1", &other.port.to_string()]);
    goes_away(&redis).await;
    away_because(&redis, "is a replica").await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn the_clock_of_the_server_is_read() {
    let server = Server::prepared();
    let redis = server.open();
    let (mut before, began) = (clock::wall(), Instant::now());
    // An answer that was on its way for too long says too little.
    let told = loop {
        match redis.time().await {
            Ok(told) => break told,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
        }
        before = clock::wall();
    };
    // Redis may have looked at its clock at any time of the round trip; both clocks are rounded.
    let (after, half) = (clock::wall(), (clock::wall() - before) / 2 + 1);
    assert!((before - half..=after + half).contains(&told), "{told} after {before}, before {after}");
    server.signal("STOP");
    assert!(redis.time().await.is_err(), "and not guessed");
    server.signal("CONT");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_handle_is_used_from_several_threads_and_its_thread_ends_with_it() {
    let server = Server::prepared();
    let redis = server.open();
    let threads: Vec<_> = (0..4u16)
        .map(|thread| {
            let redis = redis.clone();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    for round in 1..=200 {
                        assert_eq!(count(&redis, &[thread]).await, [round]);
                    }
                });
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(clients(&server), 3, "two, and the one that asks");
    drop(redis);
    let began = Instant::now();
    while clients(&server) > 1 {
        assert!(began.elapsed() < PATIENCE, "the connections stay");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn clients(server: &Server) -> usize {
    server.tell::<String>(&["CLIENT", "LIST"]).lines().count()
}

/// Nothing is asked but by what looks after the connections.
#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn an_idle_gateway_knows_within_seconds_why_no_writes_are_taken() {
    let mut server = Server::prepared();
    let redis = server.open();
    count(&redis, &[1]).await;
    takes_writes(&redis).await;
    for (name, bad, good, why) in [
        ("maxmemory", "1mb", "0", "is out of memory"),
        ("min-replicas-to-write", "1", "0", "refuses writes"),
        ("appendfsync", "everysec", "always", "has appendfsync \"everysec\""),
    ] {
        server.set(name, bad);
        refuses_writes(&redis, why).await;
        if name == "maxmemory" {
            assert_eq!(ask_count(&redis, 1).await.unwrap(), 1, "reads go on");
        }
        server.set(name, good);
        takes_writes(&redis).await;
    }
    server.tell::<()>(&["REPLICAOF", "127.0.0.1", "1"]);
    refuses_writes(&redis, "is a replica").await;
    server.tell::<()>(&["REPLICAOF", "NO", "ONE"]);
    takes_writes(&redis).await;
    server.signal("STOP");
    refuses_writes(&redis, "no answer in time").await;
    server.signal("CONT");
    takes_writes(&redis).await;
    server.kill();
    refuses_writes(&redis, "Connection refused").await;
    server.start_again_with(&["--requirepass", "another"]);
    refuses_writes(&redis, "does not let this user in").await;
    server.kill();
}

async fn takes_writes(redis: &Redis) {
    let began = Instant::now();
    while !redis.takes_writes(Shard(1)) || !redis.troubles().is_empty() {
        assert!(began.elapsed() < PATIENCE, "not back: {:?}", redis.troubles());
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn refuses_writes(redis: &Redis, why: &str) {
    let began = Instant::now();
    while redis.takes_writes(Shard(1)) || !redis.troubles().concat().contains(why) {
        assert!(began.elapsed() < PATIENCE, "{why:?} is not what it says: {:?}", redis.troubles());
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
