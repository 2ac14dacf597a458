//! All code that names the servers shared by gateways: Redis, Kafka, Cassandra, MongoDB, and history services.
//!
//! A build without the feature `fleet` has `without_fleet.rs` in its place, with the same items.

mod agreed;
pub(super) mod cascade;
mod error;
mod history_packs;
mod history_trim;
pub(super) mod job;
pub mod rebuild;
mod shared;
mod sockless;
mod statistics;
pub(super) mod storeless;

use std::sync::Arc;

use super::error::{LookError, StartError};
use super::examination::Examination;
use super::redis_certificates::RedisCertificates;
use crate::config::Config;
use domain::time::clock;
use model::ids::UserId;
use model::retention::Retention;
use model::shard::Shards;
use shared::store_settings;
use storage::event_bus::source::EventSource;
use storage::event_bus::{EventBus, EventTopic};
use storage::history_store::HistoryStore;
use storage::hot_store::HotStore;
use storage::hot_store::config::Backend;
use storage::hot_store::trim_users::TrimUsers;
use storage::owner_queues::OwnerQueues;
use storage_cassandra::{CassandraStore, Schema};
use storage_kafka::event_bus::{KafkaBus, KafkaEvents};
use storage_redis::Redis;
use storage_redis::examine::{self, Examined};
use storage_redis::hot_store::RedisStore;
use storage_redis::prepare;

pub(super) use shared::{Shared, open_hot};
pub(super) use statistics::Statistics;

/// Prepares an empty Redis for a deployment, and tells what was done.
pub fn prepare(config: &Config) -> Result<String, StartError> {
    Ok(prepare::prepare(&config.redis)?.to_string())
}

/// The fault in the files for TLS to Redis; `None`: there is none, or no such TLS.
pub(super) fn fault_of_certificates(config: &Config) -> Option<String> {
    (config.store.hot_store == Backend::Redis).then(|| storage_redis::fault_of_files(&config.redis)).flatten()
}

/// The certificates of TLS to this Redis, if they are in files.
fn certificates(redis: &Redis) -> Option<Arc<RedisCertificates>> {
    let of_redis = redis.clone();
    redis.has_certificates().then(|| RedisCertificates::new(Box::new(move || of_redis.reload_certificates())))
}

/// What `heartline doctor` finds at the servers that gateways share.
pub fn examine(config: &Config) -> Examination {
    if config.store.hot_store != Backend::Redis {
        return Examination::of_none();
    }
    let Examined { found, advice, faults } = examine::examine(&config.redis);
    let line = |kind: &'static str| move |text: &String| format!("redis: {kind}{text}\n");
    let (found, advice) = (found.iter().map(line("")), advice.iter().map(line("advice: ")));
    let text = found.chain(advice).chain(faults.iter().map(line("fault: "))).collect();
    Examination { text, is_well: faults.is_empty() }
}

/// The hot store of a command that only reads.
pub(super) async fn hot_to_read(config: &Config) -> Result<Arc<dyn HotStore>, LookError> {
    let redis = Redis::open(&config.redis).map_err(StartError::from)?;
    Ok(Arc::new(RedisStore::open(redis, store_settings(config), Arc::new(|_| false)).await?))
}

/// Lists the user again, or with `None` all users, so that gateways carry all of their data to the history store. Returns
/// the number of users.
pub(super) async fn list_again(config: &Config, user: Option<UserId>) -> Result<u64, LookError> {
    let redis = Redis::open(&config.redis).map_err(StartError::from)?;
    let store = RedisStore::open(redis, store_settings(config), Arc::new(|_| false)).await?;
    let Some(user) = user else {
        let mut listed = 0;
        for shard in Shards::DEFAULT.all() {
            listed += store.list_shard_again(shard, clock::wall()).await?;
        }
        return Ok(listed);
    };
    Ok(store.list_again(vec![user], clock::wall()).await?)
}

/// A history store that is only read. Blocks.
pub(super) fn history_to_read(config: &Config) -> Result<Arc<dyn HistoryStore>, StartError> {
    let (retention, metrics) = (Retention::of(config.store.retention), storage_cassandra::Metrics::default());
    Ok(Arc::new(CassandraStore::open(&config.cassandra, retention, Schema::Find, metrics)?))
}

/// Takes events of all topics.
pub(super) fn event_bus(config: &Config) -> Result<Arc<dyn EventBus>, StartError> {
    Ok(Arc::new(KafkaBus::open(&config.kafka, &config.events)?))
}

pub(super) fn event_source(
    config: &Config,
    topic: EventTopic,
    queues: Arc<dyn OwnerQueues>,
) -> Result<Arc<dyn EventSource>, StartError> {
    Ok(Arc::new(KafkaEvents::open(&config.kafka, &config.events.deployment, topic, queues)?))
}
