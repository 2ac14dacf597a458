//! Reads the data of a user from the history store, and from the hot store to compare.

use std::sync::Arc;

use super::error::StartError;
use super::hot::redis_settings;
use crate::config::Config;
use crate::domain::time::clock;
use crate::model::ids::UserId;
use crate::model::page::PageRequest;
use crate::model::record::Record;
use crate::model::retention::Retention;
use crate::model::rows_read::RowsRead;
use crate::storage::history_store::cassandra::{CassandraStore, Metrics, Schema};
use crate::storage::history_store::config::Backend;
use crate::storage::history_store::{HistoryAway, HistoryStore, HistoryUser};
use crate::storage::hot_store::redis::RedisStore;
use crate::storage::hot_store::{Positions, StoreError};
use crate::storage::redis::Redis;

const PAGE_RECORDS: usize = 1_000;

/// Each with an exit code of sysexits.h.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error("there is no history store: history.store is \"none\"; set it to \"cassandra\"")]
    NoStore,
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    HistoryAway(#[from] HistoryAway),
    #[error(transparent)]
    HotAway(#[from] StoreError),
}

impl LookError {
    pub fn exit_code(&self) -> u8 {
        match self {
            LookError::NoStore => 78,
            LookError::Start(error) => error.exit_code(),
            LookError::HistoryAway(_) | LookError::HotAway(_) => 69,
        }
    }
}

/// What the history store has of a user, and if `compare` is set the records of the hot store. Blocks.
pub fn look(config: &Config, user: UserId, compare: bool) -> Result<(HistoryUser, Option<Vec<Record>>), LookError> {
    let store = match config.history.store {
        Backend::None => return Err(LookError::NoStore),
        Backend::Cassandra => {
            let retention = Retention::of(config.store.retention);
            CassandraStore::open(&config.cassandra, retention, Schema::Find, Metrics::default())
                .map_err(StartError::from)?
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Process)?;
    runtime.block_on(async {
        // The hot store first: what leaves it meanwhile is in the other one.
        let hot = if compare { Some(hot_records(config, user).await?) } else { None };
        Ok((store.read(user, clock::wall()).await?, hot))
    })
}

/// On Redis: the checks of the settings allow no other one beside a history store.
async fn hot_records(config: &Config, user: UserId) -> Result<Vec<Record>, LookError> {
    let redis = Redis::open(&config.redis).map_err(StartError::from)?;
    let store = RedisStore::open(redis, redis_settings(config), Arc::new(|_| false)).await?;
    let (mut records, mut after) = (Vec::new(), None);
    loop {
        let request = PageRequest { limit: PAGE_RECORDS, after, kinds: Vec::new(), finished: None };
        let page = store.list(user, request, clock::wall(), RowsRead::default()).await?;
        records.extend(page.records);
        after = page.next;
        if after.is_none() {
            return Ok(records);
        }
    }
}
