//! Reads of the services' decisions on rewards.

use futures_util::FutureExt;

use super::reads::{Stub, unreadable};
use super::{Answer, RemoteStore};
use model::ids::UserId;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use storage::gateway_messages::{claims, decode_day, wire};
use storage::hot_store::reward_decisions::{Opened, RewardDecisions};

impl RewardDecisions for RemoteStore {
    fn today(&self) -> Day {
        decode_day(self.services.today()).ok().flatten().unwrap_or_default()
    }

    fn rules(&self) -> (bool, bool) {
        self.services.rules()
    }

    fn open(&self, user: UserId) -> Answer<Opened> {
        let store = self.clone();
        async move {
            let call = async |mut stub: Stub, request| stub.open(request).await;
            let wire::OpenResponse { paused, today, flag } =
                store.ask(Some(user), wire::UserRequest { mid: user.0 }, call).await?;
            store.services.is_day(today);
            let today = decode_day(today).map_err(unreadable)?.unwrap_or_default();
            Ok(Opened { paused, today, flag: decode_day(flag).map_err(unreadable)? })
        }
        .boxed()
    }

    fn claims(&self, user: UserId, kept: bool) -> Answer<(Day, Vec<ClaimKey>)> {
        let store = self.clone();
        async move {
            let call = async |mut stub: Stub, request| stub.claims(request).await;
            let answer = store.ask(Some(user), wire::ClaimsRequest { mid: user.0, kept }, call).await?;
            store.services.is_day(answer.today);
            let found = answer.claims.into_iter().map(|claim| claims::decode(user, claim)).collect::<Result<_, _>>();
            let today = decode_day(answer.today).map_err(unreadable)?.unwrap_or_default();
            Ok((today, found.map_err(unreadable)?))
        }
        .boxed()
    }
}
