//! What a Redis does not do for ever.

use std::time::{Duration, Instant};

use heartline::domain::clock;
use heartline::storage::redis::config::RedisConfig;
use heartline::storage::redis::{Redis, RedisRefused};

use super::server::{Server, free_port};
use super::{ask_count, away_within, back_within, count, try_count};

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn nobody_there_is_told_as_such() {
    let url = format!("redis://:secret@127.0.0.1:{}", free_port());
    let Err(refused) = Redis::open(&RedisConfig::strict(&url)) else { panic!("nobody is there") };
    assert!(matches!(refused, RedisRefused::Unreachable(_)), "{refused}");
    assert!(!refused.to_string().contains("secret"), "{refused}");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn one_that_is_killed_is_away_and_comes_back_with_what_it_had() {
    let mut server = Server::prepared();
    let redis = server.open();
    count(&redis, &[1, 2, 3]).await;
    server.kill();
    let began = Instant::now();
    away_within(&redis, Duration::ZERO).await;
    assert!(ask_count(&redis, 1).await.is_err());
    assert!(began.elapsed() < Duration::from_millis(200), "it says so at once");
    server.start_again();
    // The script has to be loaded anew.
    let took = back_within(&redis, 1, Duration::from_secs(3)).await;
    assert_eq!(ask_count(&redis, 1).await.unwrap(), 2);
    println!("back after {took:?}");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn one_that_stalls_is_given_up_and_found_again() {
    let server = Server::prepared();
    let redis = server.open();
    count(&redis, &[1]).await;
    server.signal("STOP");
    let began = Instant::now();
    away_within(&redis, Duration::from_secs(5)).await;
    assert!((2..5).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    for _ in 0..1_000 {
        assert!(try_count(&redis, &[1]).await.is_err(), "and at once from then on");
    }
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    server.signal("CONT");
    back_within(&redis, 1, Duration::from_secs(5)).await;
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
        back_within(&redis, 1, Duration::from_secs(2)).await;
        back_within(&redis, 2, Duration::from_secs(2)).await;
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn one_that_became_a_replica_takes_nothing() {
    let (server, other) = (Server::prepared(), Server::prepared());
    let redis = server.open();
    count(&redis, &[1]).await;
    server.tell::<()>(&["REPLICAOF", "127.0.0.1", &other.port.to_string()]);
    away_within(&redis, Duration::from_secs(1)).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let reason = away_within(&redis, Duration::ZERO).await;
    assert!(reason.contains("is a replica"), "{reason}");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn its_clock_is_read() {
    let server = Server::prepared();
    let redis = server.open();
    assert!(redis.time().await.unwrap().abs_diff(clock::wall()) < 200);
    server.signal("STOP");
    let began = Instant::now();
    assert!(redis.time().await.is_err(), "and not guessed");
    assert!(began.elapsed() < Duration::from_secs(5));
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
        assert!(began.elapsed() < Duration::from_secs(2), "the connections stay");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn clients(server: &Server) -> usize {
    server.tell::<String>(&["CLIENT", "LIST"]).lines().count()
}
