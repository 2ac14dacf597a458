//! The `at` of an erasure, and of a delete, clear or switch that came without one: the time of the request, or that of
//! the newest record concerned if that is ahead of the server's clock.
//!
//! It is fixed here and not at the commit. A late commit would otherwise remove what was played after the request.

use std::time::Duration;

use tokio::time::timeout;

use super::problem::Problem;
use crate::context::ConnectionContext;
use domain::history::History;
use domain::store_reads::Unavailable;
use domain::time::clock::Clock;
use model::ids::{Content, UserId};
use model::page::{ListFilter, ListRequest};
use model::record::Record;
use model::rows_read::RowsRead;
use model::rule::AHEAD_MS_MAX;

/// How long the user's lists are waited for.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// The newest record of a user is not known.
#[derive(Debug, thiserror::Error)]
pub enum NewestUnknown {
    #[error("the user's lists take too long (limits.list_rows_per_second)")]
    ListsTakeLong,
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl NewestUnknown {
    /// How long to wait before asking again.
    pub const RETRY_AFTER: Duration = WAIT_MAX;
}

/// Server-clock milliseconds, here and below.
pub async fn of_contents(
    context: &ConnectionContext,
    user: UserId,
    contents: Vec<Content>,
) -> Result<u64, Unavailable> {
    let now = context.clock.now();
    let found = context.history.get(user, contents).await?;
    Ok(not_before(found.records.iter().flatten(), now))
}

/// The same for all contents. It looks at what a list looks at, and has its turn among the user's lists.
pub async fn of_all(context: &ConnectionContext, user: UserId) -> Result<u64, NewestUnknown> {
    let now = context.clock.now();
    let permit = timeout(WAIT_MAX, context.lists.clone().acquire(user)).await;
    let permit = permit.map_err(|_| NewestUnknown::ListsTakeLong)??;
    let newest = ListRequest { limit: 1, after: None, filter: ListFilter::default() };
    let found = context.history.list(user, newest, permit.rows()).await?;
    Ok(not_before(found.records.iter(), now))
}

/// The moment of a switch of recording, which then is newer than the one before it.
pub async fn of_switch(context: &ConnectionContext, user: UserId) -> Result<u64, Unavailable> {
    let now = context.clock.now();
    let last = context.history.last_switch(user).await?;
    Ok(last.map_or(now, |last| now.max(last.at + 1)).min(now + AHEAD_MS_MAX))
}

/// The moment of an erasure, which covers the switches of recording, too.
pub async fn of_erasure(clock: &Clock, history: &History, user: UserId) -> Result<u64, Unavailable> {
    let now = clock.now();
    let newest = ListRequest { limit: 1, after: None, filter: ListFilter::default() };
    let found = history.list(user, newest, RowsRead::default()).await?;
    let last = history.last_switch(user).await?.map_or(0, |last| last.at);
    Ok(not_before(found.records.iter(), now).max(last.min(now + AHEAD_MS_MAX)))
}

/// No record can have been further ahead when it was asked.
fn not_before<'r>(records: impl Iterator<Item = &'r Record>, now: u64) -> u64 {
    records.map(|record| record.at).fold(now, u64::max).min(now + AHEAD_MS_MAX)
}

impl From<NewestUnknown> for Problem {
    fn from(error: NewestUnknown) -> Self {
        match error {
            NewestUnknown::ListsTakeLong => Problem::too_fast(error.to_string(), NewestUnknown::RETRY_AFTER),
            NewestUnknown::Unavailable(unavailable) => unavailable.into(),
        }
    }
}
