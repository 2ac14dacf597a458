//! The connections to Redis, held to real servers that are started, stopped, stalled, misconfigured and wiped.
//!
//! Every test starts servers of its own, so all of them need `redis-server` and `redis-cli` (Debian: `apt-get install
//! redis-server`), and none runs unless asked for: `tests/run redis`, or `cargo test --test library redis:: -- --ignored`.

mod append_only_file;
mod channel;
mod cluster;
mod deployment;
mod doctor;
mod faults;
mod managed;
mod revocations;
mod sentinel;
mod server;
mod settings;
mod tls;

use std::time::{Duration, Instant};

use heartline::model::shard::Shard;
use heartline::storage::hot_store::StoreError;
use heartline::storage_redis::{Call, Redis, tag};
use redis::{Pipeline, Script, Value, from_redis_value};

/// Returns the users it was called for, and counts the calls, if its shard is of the deployment.
fn count_up() -> Script {
    Script::new(
        "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('WIPED') end
        return {ARGV[2], redis.call('INCR', ARGV[2])}",
    )
}

/// Calls the script for these shards; the answers are of them, in their order. Gives the counts.
async fn try_count(redis: &Redis, shards: &[u16]) -> Result<Vec<u64>, StoreError> {
    let name = |shard: u16| format!("{}:counted", tag(Shard(shard)));
    let call = |shard: &u16| {
        let args = vec![redis.deployment().as_bytes().to_vec(), name(*shard).into_bytes()];
        Call::of(Shard(*shard), args)
    };
    let answers = redis.run(&count_up(), shards.iter().map(call).collect()).await?;
    let read = |(shard, answer): (&u16, Value)| {
        let (key, count): (String, u64) = from_redis_value(answer).unwrap();
        assert_eq!(key, name(*shard), "in the order of the calls");
        count
    };
    Ok(shards.iter().zip(answers).map(read).collect())
}

async fn count(redis: &Redis, shards: &[u16]) -> Vec<u64> {
    try_count(redis, shards).await.unwrap()
}

async fn ask_count(redis: &Redis, shard: u16) -> Result<u64, StoreError> {
    let mut get = Pipeline::new();
    get.cmd("GET").arg(format!("{}:counted", tag(Shard(shard))));
    let answers = redis.ask(Shard(shard), get).await?;
    Ok(from_redis_value(answers.into_iter().next().unwrap()).unwrap())
}

/// The longest a test waits for what it was promised.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// It is away now; returns what it says.
async fn away(redis: &Redis) -> String {
    match try_count(redis, &[1]).await {
        Err(StoreError::Away(reason)) => reason,
        other => panic!("not away, but {other:?}"),
    }
}

/// Waits until it is away; returns what it says.
async fn goes_away(redis: &Redis) -> String {
    let began = Instant::now();
    loop {
        match try_count(redis, &[1]).await {
            Err(StoreError::Away(reason)) => return reason,
            Err(other) => panic!("not away, but {other}"),
            Ok(_) => assert!(began.elapsed() < PATIENCE, "still there"),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// It is away, and says this, too, after a while; returns all it says.
async fn away_because(redis: &Redis, why: &str) -> String {
    let began = Instant::now();
    loop {
        let reason = away(redis).await;
        if reason.contains(why) {
            return reason;
        }
        assert!(began.elapsed() < PATIENCE, "{why:?} is not what it says: {reason}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Waits until it takes this shard again; returns how long it took.
async fn comes_back(redis: &Redis, shard: u16) -> Duration {
    let began = Instant::now();
    while let Err(error) = try_count(redis, &[shard]).await {
        assert!(began.elapsed() < PATIENCE, "not back: {error}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
    began.elapsed()
}
