//! Reads, at the service of the user, or at another one if that is lost meanwhile.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use super::service::Service;
use super::{Answer, RemoteStore, StoreError, away, nowhere};
use model::ids::{Content, UserId};
use model::page::{Page, PageRequest, UsersRequest};
use model::recording::Switch;
use model::rows_read::RowsRead;
use model::walk::{WalkRequest, Walked};
use storage::gateway_messages::wire::gateways_client::GatewaysClient;
use storage::gateway_messages::{Malformed, encode_content, pages, records, wire};
use storage::hot_store::{Found, StoreClock, StoredUsers};

/// Its asker may be less patient.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) type Stub = GatewaysClient<Channel>;

pub(super) async fn get(store: RemoteStore, user: UserId, contents: Vec<Content>) -> Result<Found, StoreError> {
    let asked = contents.len();
    let contents = contents.into_iter().map(encode_content).collect();
    let request = wire::GetRequest { mid: user.0, contents };
    let answer = store.ask(Some(user), request, async |mut stub, request| stub.get(request).await).await?;
    let found = records::decode_found(&answer.records).map_err(unreadable)?;
    match found.len() == asked {
        true => Ok(Found { partial: answer.partial, ..found.into() }),
        false => Err(unreadable(Malformed(format!("{} records for {asked} contents", found.len())))),
    }
}

pub(super) async fn list(
    store: RemoteStore,
    user: UserId,
    request: PageRequest,
    rows: RowsRead,
) -> Result<Page, StoreError> {
    let request = pages::encode_request(user, &request);
    let answer = store.ask(Some(user), request, async |mut stub, request| stub.list(request).await).await?;
    rows.add(answer.rows);
    pages::decode_page(&answer).map_err(unreadable)
}

pub(super) async fn last_switch(store: RemoteStore, user: UserId) -> Result<Option<Switch>, StoreError> {
    let request = wire::UserRequest { mid: user.0 };
    let answer = store.ask(Some(user), request, async |mut stub, request| stub.last_switch(request).await).await?;
    Ok(answer.last.map(|wire::Switch { paused, at }| Switch { paused, at }))
}

pub(super) fn unreadable(error: Malformed) -> StoreError {
    StoreError::Away(format!("history service: {error}"))
}

impl RemoteStore {
    /// Asks the service of the user, or any. A second one is asked if the first does not answer.
    pub(super) async fn ask<Q: Clone, A>(
        &self,
        user: Option<UserId>,
        message: Q,
        call: impl AsyncFn(Stub, Request<Q>) -> Result<Response<A>, Status>,
    ) -> Result<A, StoreError> {
        self.ask_some(user, message, 2, call).await
    }

    /// The same of so many services, one after the other.
    pub(super) async fn ask_some<Q: Clone, A>(
        &self,
        user: Option<UserId>,
        message: Q,
        tries: usize,
        call: impl AsyncFn(Stub, Request<Q>) -> Result<Response<A>, Status>,
    ) -> Result<A, StoreError> {
        let first = match user {
            Some(user) => self.services.lanes.of(user),
            None => None,
        };
        let others = self.services.lanes.usable();
        let is_first = |service: &Arc<Service>| first.as_ref().is_some_and(|first| Arc::ptr_eq(first, service));
        let mut others: Vec<_> = others.into_iter().filter(|service| !is_first(service)).collect();
        // A service that cannot reach its store is asked last.
        others.sort_by_key(|service| service.count_away(|_| true));
        let mut error = nowhere();
        for service in first.iter().chain(&others).take(tries) {
            let request = self.services.bearer.request(message.clone(), Some(TIMEOUT));
            match call(service.stub.clone(), request).await {
                Ok(answer) => return Ok(answer.into_inner()),
                Err(status) => {
                    self.services.metrics.failures.inc();
                    error = away(&status);
                }
            }
        }
        Err(error)
    }
}

impl StoreClock for RemoteStore {
    fn time(&self) -> Answer<Option<u64>> {
        let store = self.clone();
        async move {
            let call = async |mut stub: Stub, request| stub.time(request).await;
            store.ask(None, wire::TimeRequest {}, call).await.map(|answer| Some(answer.now))
        }
        .boxed()
    }
}

impl StoredUsers for RemoteStore {
    fn users(&self, request: UsersRequest, _now: u64) -> Answer<Vec<UserId>> {
        let (store, request) = (self.clone(), pages::encode_users(&request));
        async move {
            let call = async |mut stub: Stub, request| stub.users(request).await;
            let answer = store.ask(None, request, call).await?;
            Ok(answer.mids.into_iter().map(UserId).collect())
        }
        .boxed()
    }

    fn walk(&self, user: UserId, request: WalkRequest, _now: u64) -> Answer<Walked> {
        let (store, request) = (self.clone(), pages::encode_walk(user, &request));
        async move {
            let call = async |mut stub: Stub, request| stub.walk(request).await;
            let answer = store.ask(Some(user), request, call).await?;
            pages::decode_walked(&answer).map_err(unreadable)
        }
        .boxed()
    }
}
