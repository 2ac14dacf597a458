//! The methods of the service. Each asks what its caller may do, decodes, and hands over.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::caller::Caller;
use super::gate::Deadline;
use super::wire::history_server::History;
use super::wire::{
    ClearRequest, ClearResponse, DeleteRequest, DeleteResponse, GetRecordingRequest, GetRequest, GetResponse,
    ListRequest, ListResponse, OpenRequest, OpenResponse, PutRequest, PutResponse, RecordingState, RewardsRequest,
    RewardsResponse, SetRecordingRequest, UsersRequest, UsersResponse,
};
use super::{decode, forgetting, put, reads, status};
use crate::auth::User;
use crate::called_users::CalledUsers;
use crate::context::ConnectionContext;
use domain::stored_users::Users;

pub struct Service {
    /// That of the thread.
    pub context: Arc<ConnectionContext>,
    pub users: Users,
    pub called_users: CalledUsers,
}

impl Service {
    /// The user that a call changes.
    async fn changed(&self, mid: Option<u64>, sub: &str) -> Result<User, Status> {
        self.called_users.changed(decode::whom(mid, sub)?).await.map_err(status::of_user)
    }

    /// The user that a call reads.
    async fn read(&self, mid: Option<u64>, sub: &str) -> Result<User, Status> {
        self.called_users.read(decode::whom(mid, sub)?).await.map_err(status::of_user)
    }
}

/// Takes a call with the caller and the deadline that the gate has found.
pub(super) fn taken<T>(request: Request<T>) -> Result<(Caller, Deadline, T), Status> {
    let (_, extensions, message) = request.into_parts();
    match (extensions.get::<Caller>(), extensions.get::<Deadline>()) {
        (Some(caller), Some(deadline)) => Ok((caller.clone(), *deadline, message)),
        _ => Err(Status::unauthenticated("the call has no caller")),
    }
}

#[tonic::async_trait]
impl History for Service {
    async fn put(&self, request: Request<PutRequest>) -> Result<Response<PutResponse>, Status> {
        let (caller, deadline, put) = taken(request)?;
        caller.require_write()?;
        put::put(&self.context, &self.called_users, &caller, deadline, put).await.map(Response::new)
    }

    async fn get(&self, request: Request<GetRequest>) -> Result<Response<GetResponse>, Status> {
        let (caller, _, get) = taken(request)?;
        caller.require_read()?;
        let user = self.read(get.mid, &get.sub).await?.id;
        reads::get(&self.context, &caller, user, get).await.map(Response::new)
    }

    async fn list(&self, request: Request<ListRequest>) -> Result<Response<ListResponse>, Status> {
        let (caller, deadline, list) = taken(request)?;
        caller.require_read()?;
        let user = self.read(list.mid, &list.sub).await?.id;
        reads::list(&self.context, &self.users, &caller, deadline, user, list).await.map(Response::new)
    }

    async fn delete(&self, request: Request<DeleteRequest>) -> Result<Response<DeleteResponse>, Status> {
        let (caller, _, delete) = taken(request)?;
        caller.require_write()?;
        let user = self.changed(delete.mid, &delete.sub).await?.id;
        forgetting::delete(&self.context, &caller, user, delete).await.map(Response::new)
    }

    async fn clear(&self, request: Request<ClearRequest>) -> Result<Response<ClearResponse>, Status> {
        let (caller, _, clear) = taken(request)?;
        caller.require_write()?;
        caller.require_all_kinds()?;
        let user = self.changed(clear.mid, &clear.sub).await?.id;
        forgetting::clear(&self.context, user, clear).await.map(Response::new)
    }

    async fn get_recording(&self, request: Request<GetRecordingRequest>) -> Result<Response<RecordingState>, Status> {
        let (caller, _, recording) = taken(request)?;
        caller.require_read()?;
        caller.require_all_kinds()?;
        let user = self.read(recording.mid, &recording.sub).await?.id;
        reads::recording(&self.context, user).await.map(Response::new)
    }

    async fn set_recording(&self, request: Request<SetRecordingRequest>) -> Result<Response<RecordingState>, Status> {
        let (caller, _, recording) = taken(request)?;
        caller.require_write()?;
        caller.require_all_kinds()?;
        let user = self.changed(recording.mid, &recording.sub).await?.id;
        forgetting::set_recording(&self.context, user, recording).await.map(Response::new)
    }

    async fn open(&self, request: Request<OpenRequest>) -> Result<Response<OpenResponse>, Status> {
        let (caller, _, open) = taken(request)?;
        caller.require_read()?;
        let user = self.changed(open.mid, &open.sub).await?;
        reads::open(&self.context, &caller, &user).await.map(Response::new)
    }

    async fn rewards(&self, request: Request<RewardsRequest>) -> Result<Response<RewardsResponse>, Status> {
        let (caller, _, rewards) = taken(request)?;
        caller.require_read()?;
        let user = self.read(rewards.mid, &rewards.sub).await?;
        reads::rewards(&self.context, &caller, &user).await.map(Response::new)
    }

    async fn users(&self, request: Request<UsersRequest>) -> Result<Response<UsersResponse>, Status> {
        let (caller, _, users) = taken(request)?;
        caller.require_read()?;
        reads::users(&self.users, &self.called_users, &caller, users).await.map(Response::new)
    }
}
