//! The names of users, which the history services keep.

use futures_util::FutureExt;
use tonic::{Request, Response, Status};

use super::reads::{Stub, unreadable};
use super::{Answer, RemoteStore, StoreError};
use model::ids::UserId;
use model::user_name::UserName;
use storage::gateway_messages::names::{decode_number, decode_text};
use storage::gateway_messages::{Malformed, wire};
use storage::names::{NameText, Names, Numbered};

pub struct RemoteNames {
    pub services: RemoteStore,
}

impl Names for RemoteNames {
    fn number(&self, name: UserName) -> Answer<UserId> {
        let request = wire::NamesRequest { numbered: true, ..names(&[name]) };
        let services = self.services.clone();
        async move {
            let numbered = numbers(&services, request, 1).await?.pop().flatten();
            let missing = || unreadable(Malformed("a name got no number".to_owned()));
            numbered.map(|numbered| numbered.user).ok_or_else(missing)
        }
        .boxed()
    }

    fn numbers(&self, asked: Vec<UserName>) -> Answer<Vec<Option<Numbered>>> {
        let (services, request) = (self.services.clone(), names(&asked));
        async move { numbers(&services, request, asked.len()).await }.boxed()
    }

    fn texts(&self, users: Vec<UserId>) -> Answer<Vec<Option<NameText>>> {
        let mids: Vec<_> = users.into_iter().map(|user| user.0).collect();
        let (services, asked) = (self.services.clone(), mids.len());
        async move {
            let request = wire::NamesRequest { mids, ..wire::NamesRequest::default() };
            let answer = services.ask(None, request, call).await?;
            let texts: Result<Vec<_>, _> = answer.texts.iter().map(decode_text).collect();
            complete(texts.map_err(unreadable)?, asked)
        }
        .boxed()
    }

    fn drop_text(&self, user: UserId) -> Answer<()> {
        let services = self.services.clone();
        async move {
            let request = wire::NamesRequest { drop: user.0, ..wire::NamesRequest::default() };
            services.ask(Some(user), request, call).await.map(drop)
        }
        .boxed()
    }
}

fn names(asked: &[UserName]) -> wire::NamesRequest {
    let names = asked.iter().map(|name| name.as_str().to_owned()).collect();
    wire::NamesRequest { names, ..wire::NamesRequest::default() }
}

async fn numbers(
    services: &RemoteStore,
    request: wire::NamesRequest,
    asked: usize,
) -> Result<Vec<Option<Numbered>>, StoreError> {
    let answer = services.ask(None, request, call).await?;
    complete(answer.numbers.iter().map(decode_number).collect(), asked)
}

async fn call(mut stub: Stub, request: Request<wire::NamesRequest>) -> Result<Response<wire::NamesResponse>, Status> {
    stub.names(request).await
}

fn complete<T>(answers: Vec<T>, asked: usize) -> Result<Vec<T>, StoreError> {
    match answers.len() {
        count if count == asked => Ok(answers),
        count => Err(unreadable(Malformed(format!("{count} answers about {asked} names")))),
    }
}
