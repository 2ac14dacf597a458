//! Reads the data of a user from the history store, and from the hot store to compare.

use super::error::{LookError, StartError};
use super::fleet;
use crate::config::Config;
use domain::time::clock;
use model::ids::UserId;
use model::page::PageRequest;
use model::record::Record;
use model::rows_read::RowsRead;
use storage::history_store::HistoryUser;
use storage::history_store::config::Backend;

const PAGE_RECORDS: usize = 1_000;

/// Reads a user from the history store, and if `compare` is set the user's records from the hot store. Blocks.
pub fn look(config: &Config, user: UserId, compare: bool) -> Result<(HistoryUser, Option<Vec<Record>>), LookError> {
    let store = match config.history.store {
        Backend::None => return Err(LookError::NoStore),
        Backend::Cassandra => fleet::history_to_read(config)?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Process)?;
    runtime.block_on(async {
        // The hot store first: what leaves it meanwhile is in the other one.
        let hot = if compare { Some(hot_records(config, user).await?) } else { None };
        Ok((store.read(user, clock::wall()).await?, hot))
    })
}

/// Has gateways carry all data of the user, or with `None` of all users, to the history store again. Returns the number of
/// users with data. Blocks.
pub fn repair(config: &Config, user: Option<UserId>) -> Result<u64, LookError> {
    if !config.history.is_kept() {
        return Err(LookError::NoStore);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Process)?;
    runtime.block_on(fleet::list_again(config, user))
}

/// On Redis: the checks of the settings allow no other one beside a history store.
async fn hot_records(config: &Config, user: UserId) -> Result<Vec<Record>, LookError> {
    let store = fleet::hot_to_read(config).await?;
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
