//! The history service of gateways without a store: their changes, their reads, and what others change of their users.
//!
//! A gateway shows the scope `heartline.internal`, which no back-end needs. Its changes go the way of those of sockets here:
//! the same intake, rules, rewards and listeners. It pushes to its own connections what they change; everything else is
//! told on the stream that it keeps open.

mod commit;
mod content_names;
mod follow;
mod forwarded;
mod names;
mod reads;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use tonic::{Request, Response, Status, Streaming};

pub use self::forwarded::Routes;
use super::caller::Caller;
use super::service::taken;
use super::status;
use crate::called_users::CalledUsers;
use crate::context::ConnectionContext;
use domain::devices::gateways::{Gateways, decode_announcement};
use domain::gateway_messages::wire::gateways_server::Gateways as Served;
use domain::gateway_messages::{Malformed, wire};
use domain::ingest::health::StoreHealth;
use domain::revocations::Revocations;
use domain::stored_users::Users;
use domain::time::guard::ClockStatus;
use model::ids::GatewayId;
use model::shard::{Shard, Shards};

/// How often a service looks whether its store is away.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Cheap to clone.
#[derive(Clone)]
pub struct GatewayService {
    /// That of the thread.
    pub context: Arc<ConnectionContext>,
    pub users: Users,
    pub called_users: CalledUsers,
    pub gateways: Arc<Gateways>,
    pub revocations: Arc<Revocations>,
    pub backing: Backing,
    pub store: StoreState,
    pub routes: Routes,
}

/// The state of the store to which the service commits.
#[derive(Clone)]
pub struct StoreState {
    pub health: Arc<StoreHealth>,
    pub clock_status: ClockStatus,
}

/// The store and the settings behind the service.
#[derive(Clone)]
pub struct Backing {
    /// Names the store. Services with one name share it.
    pub store: String,
    pub rules_per_user: bool,
    pub rules_per_content: bool,
    /// Settings that all gateways must share: values as text, by name.
    pub settings: Arc<BTreeMap<String, String>>,
}

impl StoreState {
    /// The shards whose changes are not committed. Calls are refused altogether while the clock is in doubt.
    fn away(&self) -> Vec<Shard> {
        match self.clock_status.trouble() {
            Some(_) => Shards::DEFAULT.all().collect(),
            None => self.health.away(),
        }
    }
}

/// A gateway.
fn require(caller: &Caller) -> Result<(), Status> {
    caller.require_internal()?;
    caller.require_all_kinds()
}

fn entered<T>(request: Request<T>) -> Result<T, Status> {
    let (caller, _, message) = taken(request)?;
    require(&caller)?;
    Ok(message)
}

fn malformed(error: Malformed) -> Status {
    Status::invalid_argument(error.to_string())
}

#[tonic::async_trait]
impl Served for GatewayService {
    type FollowStream = BoxStream<'static, Result<wire::FollowEvent, Status>>;

    async fn follow(
        &self,
        request: Request<Streaming<wire::FollowRequest>>,
    ) -> Result<Response<Self::FollowStream>, Status> {
        follow::follow(self, entered(request)?).await.map(Response::new)
    }

    async fn commit(&self, request: Request<wire::CommitRequest>) -> Result<Response<wire::CommitResponse>, Status> {
        let (caller, deadline, message) = taken(request)?;
        require(&caller)?;
        commit::commit(self, deadline, message).await.map(Response::new)
    }

    async fn get(&self, request: Request<wire::GetRequest>) -> Result<Response<wire::GetResponse>, Status> {
        reads::get(&self.context, entered(request)?).await.map(Response::new)
    }

    async fn list(&self, request: Request<wire::ListRequest>) -> Result<Response<wire::ListResponse>, Status> {
        reads::list(&self.context, entered(request)?).await.map(Response::new)
    }

    async fn last_switch(
        &self,
        request: Request<wire::UserRequest>,
    ) -> Result<Response<wire::LastSwitchResponse>, Status> {
        reads::last_switch(&self.context, entered(request)?).await.map(Response::new)
    }

    async fn open(&self, request: Request<wire::UserRequest>) -> Result<Response<wire::OpenResponse>, Status> {
        reads::open(&self.context, entered(request)?).await.map(Response::new)
    }

    async fn claims(&self, request: Request<wire::ClaimsRequest>) -> Result<Response<wire::ClaimsResponse>, Status> {
        reads::claims(&self.context, entered(request)?).await.map(Response::new)
    }

    async fn users(&self, request: Request<wire::UsersRequest>) -> Result<Response<wire::UsersResponse>, Status> {
        reads::users(&self.users, entered(request)?).await.map(Response::new)
    }

    async fn walk(&self, request: Request<wire::WalkRequest>) -> Result<Response<wire::WalkResponse>, Status> {
        reads::walk(&self.users, entered(request)?).await.map(Response::new)
    }

    async fn time(&self, request: Request<wire::TimeRequest>) -> Result<Response<wire::TimeResponse>, Status> {
        entered(request)?;
        Ok(Response::new(wire::TimeResponse { now: self.context.clock.now() }))
    }

    async fn announce(
        &self,
        request: Request<wire::AnnounceRequest>,
    ) -> Result<Response<wire::AnnounceResponse>, Status> {
        let wire::AnnounceRequest { gateway, message } = entered(request)?;
        let announcement = decode_announcement(&message).map_err(malformed)?;
        let announced = self.gateways.announced(GatewayId(gateway), announcement).await;
        announced.map_err(|error| status::unavailable(error.to_string()))?;
        Ok(Response::new(wire::AnnounceResponse {}))
    }

    async fn revocations(
        &self,
        request: Request<wire::RevocationsRequest>,
    ) -> Result<Response<wire::RevocationsResponse>, Status> {
        let known = entered(request)?.known;
        reads::revocations(&self.revocations, known).await.map(Response::new)
    }

    async fn revoke(&self, request: Request<wire::RevokeRequest>) -> Result<Response<wire::RevokeResponse>, Status> {
        commit::revoke(&self.revocations, entered(request)?).await.map(Response::new)
    }

    async fn take_back(
        &self,
        request: Request<wire::TakeBackRequest>,
    ) -> Result<Response<wire::TakeBackResponse>, Status> {
        commit::take_back(&self.revocations, entered(request)?).await.map(Response::new)
    }

    async fn forward(&self, request: Request<wire::ForwardRequest>) -> Result<Response<wire::ForwardResponse>, Status> {
        self.routes.answer(entered(request)?).await.map(Response::new)
    }

    async fn names(&self, request: Request<wire::NamesRequest>) -> Result<Response<wire::NamesResponse>, Status> {
        names::answer(self.called_users.0.as_ref(), entered(request)?).await.map(Response::new)
    }

    async fn content_names(
        &self,
        request: Request<wire::ContentNamesRequest>,
    ) -> Result<Response<wire::ContentNamesResponse>, Status> {
        content_names::answer(self.context.contents.as_ref(), entered(request)?).await.map(Response::new)
    }
}
