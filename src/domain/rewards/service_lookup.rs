//! The state of a user that a new connection needs, where a history service decides the rewards.

use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::lookup::{ConnectInfo, Lookup};
use crate::store_reads::{StoreReads, Unavailable};
use model::ids::{Content, UserId};
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::rewards::decided::DecidedRules;
use storage::hot_store::reward_decisions::{Opened, RewardDecisions};

/// Asks the service each time: it has the memory that spares it the store.
pub struct ServiceLookup {
    pub store: Arc<dyn RewardDecisions>,
    pub reads: StoreReads,
}

impl Lookup for ServiceLookup {
    fn today(&self) -> Day {
        self.store.today()
    }

    /// The services say when a day begins, and each of their answers says which day it is.
    fn day_at(&self, _moment: Instant) -> Day {
        self.store.today()
    }

    fn is_all_decided(&self, _content: Content, known: DecidedRules, _now: Instant) -> bool {
        let today = Some(self.store.today());
        let (per_user, per_content) = self.store.rules();
        (!per_user || known.user == today) && (!per_content || known.content == today)
    }

    fn of(&self, user: UserId) -> BoxFuture<'_, Result<ConnectInfo, Unavailable>> {
        async move {
            let Opened { paused, today, flag } = self.reads.user_status.in_time(self.store.open(user)).await?;
            Ok(ConnectInfo { paused, today, flag })
        }
        .boxed()
    }

    fn flag(&self, user: UserId) -> BoxFuture<'_, Option<Day>> {
        async move {
            match self.store.rules() {
                (false, _) => None,
                (true, _) => self.of(user).await.ok()?.flag,
            }
        }
        .boxed()
    }

    fn claims(&self, user: UserId) -> BoxFuture<'_, Result<(Day, Vec<ClaimKey>), Unavailable>> {
        self.reads.claims.in_time(self.store.claims(user, false)).boxed()
    }

    fn kept_claims(&self, user: UserId) -> BoxFuture<'_, Result<Vec<ClaimKey>, Unavailable>> {
        async move { Ok(self.reads.claims.in_time(self.store.claims(user, true)).await?.1) }.boxed()
    }
}
