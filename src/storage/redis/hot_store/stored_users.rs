//! Users with records, ascending.
//!
//! Redis has no order of all users. A page looks at the members of `{h}:x` of all shards, and keeps the smallest of
//! those that come next: more than a page needs, since pages are asked for one after the other.

use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use ::redis::pipe;
use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use parking_lot::Mutex;

use super::Shared;
use super::keys::Keys;
use crate::{checked, joined, value};
use model::ids::UserId;
use model::page::{PageRequest, UsersRequest};
use model::rows_read::RowsRead;
use model::shard::{Shard, Shards};
use storage::hot_store::StoreError;

/// Shards that are asked in one step. Of ten million users each has ten thousand: 200 kB.
const STEP_SHARDS: usize = 16;
/// Users that one look at all shards keeps, 8 bytes each.
const KEPT_MAX: usize = 100_000;
/// How long they are kept for the next page.
const KEPT_FOR: Duration = Duration::from_secs(60);
/// Users whose records are looked for at one time.
const TOGETHER_MAX: usize = 64;

/// The users that the last page did not need.
#[derive(Default)]
pub struct Walk(Mutex<Option<Kept>>);

struct Kept {
    /// The last user that was returned: only the page after it goes on here.
    after: UserId,
    candidates: Candidates,
    since: Instant,
}

/// The next users, descending, so that the first of them is taken from the end.
struct Candidates {
    users: Vec<UserId>,
    /// Whether there are no others after them.
    are_last: bool,
}

impl Walk {
    fn take(&self, after: Option<UserId>) -> Option<Candidates> {
        let kept = self.0.lock().take_if(|kept| Some(kept.after) == after)?;
        (kept.since.elapsed() < KEPT_FOR).then_some(kept.candidates)
    }

    fn keep(&self, after: UserId, candidates: Candidates) {
        *self.0.lock() = Some(Kept { after, candidates, since: Instant::now() });
    }
}

impl Shared {
    pub async fn users(&self, request: &UsersRequest, now: u64) -> Result<Vec<UserId>, StoreError> {
        let (mut found, mut after) = (Vec::new(), request.after);
        let mut candidates = match self.walk.take(after) {
            Some(kept) => kept,
            None => self.candidates(after).await?,
        };
        while found.len() < request.limit {
            if candidates.users.is_empty() {
                if candidates.are_last {
                    break;
                }
                candidates = self.candidates(after).await?;
                continue;
            }
            let wanted = (request.limit - found.len()).min(TOGETHER_MAX).min(candidates.users.len());
            let next = candidates.users.split_off(candidates.users.len() - wanted);
            after = next.first().copied();
            let have = stream::iter(next.into_iter().rev())
                .map(|user| async move { Ok::<_, StoreError>((user, self.has_records(user, request, now).await?)) });
            let have: Vec<_> = have.buffered(TOGETHER_MAX).try_collect().await?;
            found.extend(have.into_iter().filter(|(_, has)| *has).map(|(user, _)| user));
        }
        if let Some(last) = found.last().filter(|_| found.len() == request.limit) {
            self.walk.keep(*last, candidates);
        }
        Ok(found)
    }

    async fn has_records(&self, user: UserId, request: &UsersRequest, now: u64) -> Result<bool, StoreError> {
        let newest = PageRequest { limit: 1, after: None, kinds: request.kinds.clone(), finished: None };
        let page = self.list(user, &newest, now, &RowsRead::default()).await?;
        // Records that have left the store may be of these kinds.
        Ok(!page.records.is_empty() || page.cold.is_some())
    }

    /// The users that come next, with or without records.
    async fn candidates(&self, after: Option<UserId>) -> Result<Candidates, StoreError> {
        let mut smallest = BinaryHeap::with_capacity(KEPT_MAX + 1);
        let mut are_last = true;
        let all: Vec<Shard> = Shards::DEFAULT.all().collect();
        for step in all.chunks(STEP_SHARDS) {
            let mut shards = step.to_vec();
            let parts = joined::split(&self.redis, &mut shards, |shard| *shard, |_| 1).into_iter();
            let members = try_join_all(parts.map(|shards| self.members(shards))).await?;
            for user in members.into_iter().flatten().filter(|user| after.is_none_or(|after| *user > after)) {
                smallest.push(user);
                if smallest.len() > KEPT_MAX {
                    smallest.pop();
                    are_last = false;
                }
            }
        }
        let mut users = smallest.into_sorted_vec();
        users.reverse();
        Ok(Candidates { users, are_last })
    }

    /// The users of shards that may be asked together.
    async fn members(&self, shards: &[Shard]) -> Result<Vec<UserId>, StoreError> {
        let mut commands = pipe();
        for shard in shards {
            commands.zrange(Keys::of(*shard).looks(), 0, -1);
        }
        let mut users = Vec::new();
        for members in checked::ask(&self.redis, shards[0], commands).await? {
            users.extend(value::texts(members)?.iter().filter_map(|member| member.parse().ok()).map(UserId));
        }
        Ok(users)
    }
}
