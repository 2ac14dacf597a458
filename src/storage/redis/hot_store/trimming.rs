//! Users of whom more is kept here than what is to stay hot.

use std::time::Duration;

use ::redis::Pipeline;

use super::keys::Keys;
use super::listed::{FIRST, STEP_USERS};
use super::{RedisStore, Shared, head};
use crate::{checked, value};
use model::ids::UserId;
use model::shard::{Region, Shard};
use storage::hot_store::optimistic::{ListedUser, Relist, Trimmed, list, read_at_once, read_whole, trim};
use storage::hot_store::trim_users::{BeyondPage, BeyondUser, HotBounds, Trim, TrimUsers};
use storage::hot_store::{Answer, StoreError};
use storage::turn::Turn;

impl Shared {
    async fn beyond(&self, shard: Shard, from: Option<String>, bounds: HotBounds) -> Result<BeyondPage, StoreError> {
        let (users, next) = self.scan(shard, from.as_deref().unwrap_or(FIRST)).await?;
        let mut page = BeyondPage { users: Vec::new(), next };
        for users in users.chunks(STEP_USERS) {
            page.users.extend(self.beyond_among(shard, users, bounds).await?);
        }
        Ok(page)
    }

    async fn beyond_among(
        &self,
        shard: Shard,
        users: &[UserId],
        bounds: HotBounds,
    ) -> Result<Vec<BeyondUser>, StoreError> {
        let (names, last) = (Keys::of(shard), head::LISTING_AT as isize);
        let mut commands = Pipeline::new();
        for user in users {
            commands.getrange(names.head(*user), 0, last).zcard(names.timeline(*user));
        }
        let mut answers = checked::ask(&self.redis, shard, commands).await?.into_iter();
        let mut found = Vec::new();
        for user in users {
            let (Some(begin), Some(contents)) = (answers.next(), answers.next()) else { break };
            let (begin, contents) = (value::bytes(begin)?, value::number(contents)?);
            found.extend(head::carried_since(&begin).and_then(|written| bounds.exceeds(*user, contents, written)));
        }
        Ok(found)
    }
}

/// The shard that has the keys of a region.
fn home(region: Region) -> Shard {
    Shard(region.0)
}

impl TrimUsers for RedisStore {
    fn take_look(&self, region: Region, since: u64, lasts: Duration) -> Answer<Turn> {
        let names = Keys::of(home(region));
        self.with(move |shared| {
            Box::pin(async move {
                shared.take_unless_done(home(region), (&names.look(), &names.looked()), since, lasts).await
            })
        })
    }

    fn end_look(&self, region: Region, began: u64) -> Answer<()> {
        let names = Keys::of(home(region));
        self.with(move |shared| {
            Box::pin(async move { shared.done(home(region), (&names.look(), &names.looked()), began).await })
        })
    }

    fn beyond(&self, shard: Shard, from: Option<String>, bounds: HotBounds) -> Answer<BeyondPage> {
        self.with(move |shared| Box::pin(shared.beyond(shard, from, bounds)))
    }

    fn read_whole(&self, user: UserId) -> Answer<ListedUser> {
        self.with(move |shared| Box::pin(read_whole(shared.users.store(), user)))
    }

    fn read_at_once(&self, user: UserId) -> Answer<ListedUser> {
        self.with(move |shared| Box::pin(read_at_once(shared.users.store(), user)))
    }

    fn trim(&self, Trim { user, leaving, filter }: Trim, now: u64) -> Answer<Trimmed> {
        self.with(move |shared| {
            Box::pin(async move { trim(shared.users.store(), &shared.packing, user, &leaving, filter, now).await })
        })
    }

    fn list_again(&self, users: Vec<UserId>, now: u64) -> Answer<u64> {
        self.with(move |shared| {
            Box::pin(async move { list(shared.users.store(), &shared.packing, &users, Relist::All, now).await })
        })
    }

    fn list_shard_again(&self, shard: Shard, now: u64) -> Answer<u64> {
        self.with(move |shared| Box::pin(shared.list_shard(shard, Relist::All, now)))
    }
}
