//! The `at` of a delete, clear or switch that came without one: the time of the request, or that of the newest record
//! concerned if that is ahead of the server's clock.
//!
//! It is fixed here and not at the commit. A late commit would otherwise remove what was played after the request.

use std::time::Duration;

use tokio::time::timeout;

use super::problem::Problem;
use crate::edge::context::ConnectionContext;
use crate::model::ids::{Content, UserId};
use crate::model::page::PageRequest;
use crate::model::record::Record;
use crate::model::rule::AHEAD_MS_MAX;

/// How long the user's lists are waited for.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// Server-clock milliseconds.
pub async fn of_content(context: &ConnectionContext, user: UserId, content: Content) -> Result<u64, Problem> {
    let now = context.clock.now();
    let found = context.history.get(user, vec![content]).await?;
    Ok(not_before(found.iter().flatten(), now))
}

/// The same for all contents. It looks at what a list looks at, and has its turn among the user's lists.
pub async fn of_all(context: &ConnectionContext, user: UserId) -> Result<u64, Problem> {
    let now = context.clock.now();
    let too_fast = |_| Problem::too_fast("the user's lists take too long (limits.list_rows_per_second)", WAIT_MAX);
    let permit = timeout(WAIT_MAX, context.lists.clone().acquire(user)).await.map_err(too_fast)??;
    let newest = PageRequest { limit: 1, after: None, kinds: Vec::new() };
    let found = context.history.list(user, newest, permit.rows()).await?;
    Ok(not_before(found.records.iter(), now))
}

/// No record can have been further ahead when it was asked.
fn not_before<'r>(records: impl Iterator<Item = &'r Record>, now: u64) -> u64 {
    records.map(|record| record.at).fold(now, u64::max).min(now + AHEAD_MS_MAX)
}
