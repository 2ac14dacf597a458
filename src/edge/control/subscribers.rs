//! `/v1/subscribers`: subscribers of events, and the state of their deliveries.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{StatusCode, Uri};

use super::counter_keys::KeyNames;
use crate::http::problem::Problem;
use crate::http::{body, query};
use crate::protocol::json::{
    FilterNames, SubscriberBody, decode_replay, decode_subscriber, encode_dead, encode_resent, encode_secret,
    encode_subscriber, encode_subscriber_list,
};
use domain::content_names::{ids_of, texts_of};
use domain::subscribers::{Definition, Subscribers};
use model::subscribers::{Owner, SigningSecret, SubscriberId};

/// A filter with 1,000 values of each field fits.
const BODY_BYTES_MAX: usize = 512 << 10;

type IdPath = Result<Path<String>, PathRejection>;

/// Where subscribers are kept, or why there are none.
#[derive(Clone)]
pub enum Served {
    By { subscribers: Arc<Subscribers>, names: KeyNames },
    Not(Arc<str>),
}

/// To be merged into the router of the control listener, whose guard lets calls in.
pub fn routes(served: Served) -> Router {
    Router::new()
        .route("/v1/subscribers", get(list))
        .route("/v1/subscribers/{id}", get(one).put(put).delete(delete))
        .route("/v1/subscribers/{id}/pause", post(pause))
        .route("/v1/subscribers/{id}/resume", post(resume))
        .route("/v1/subscribers/{id}/rotate", post(rotate))
        .route("/v1/subscribers/{id}/replay", post(replay))
        .route("/v1/subscribers/{id}/dead", get(dead))
        .route("/v1/subscribers/{id}/dead/resend", post(resend))
        .with_state(served)
}

impl Served {
    fn get(&self) -> Result<&Subscribers, Problem> {
        self.parts().map(|(subscribers, _)| subscribers)
    }

    fn parts(&self) -> Result<(&Subscribers, &KeyNames), Problem> {
        match self {
            Served::By { subscribers, names } => Ok((subscribers, names)),
            Served::Not(why) => Err(Problem::not_found(why.as_ref())),
        }
    }

    /// The names of users and contents in the filters of these subscribers.
    async fn names_in(&self, owners: &[Owner]) -> Result<FilterNames, Problem> {
        let filters = owners.iter().map(|owner| &owner.subscriber.filter);
        let KeyNames { called_users, contents } = self.parts()?.1;
        let users = called_users.names_of(filters.clone().flat_map(|filter| &filter.users).copied()).await?;
        let contents = texts_of(contents.as_ref(), filters.flat_map(|filter| &filter.contents).copied()).await?;
        Ok(FilterNames { users, contents })
    }

    async fn shown(&self, owner: &Owner, secret: Option<&SigningSecret>) -> Result<Response, Problem> {
        let names = self.names_in(std::slice::from_ref(owner)).await?;
        Ok(body::answered(encode_subscriber(owner, &names, secret)))
    }
}

/// `GET /v1/subscribers?after=&limit=`
async fn list(State(served): State<Served>, uri: Uri) -> Result<Response, Problem> {
    let (after, limit) = query::subscriber_list(&uri)?;
    let subscribers = served.get()?;
    let (owners, cascade) = tokio::try_join!(subscribers.list(after, limit), subscribers.cascade())?;
    let names = served.names_in(&owners).await?;
    Ok(body::answered(encode_subscriber_list(&owners, &names, owners.len() < limit, cascade)))
}

/// `GET /v1/subscribers/{id}`
async fn one(State(served): State<Served>, path: IdPath, uri: Uri) -> Result<Response, Problem> {
    query::none(&uri)?;
    let owner = served.get()?.get(&id_of(path)?).await?;
    served.shown(&owner, None).await
}

/// `PUT /v1/subscribers/{id}`
async fn put(State(served): State<Served>, path: IdPath, request: Request) -> Result<Response, Problem> {
    query::none(request.uri())?;
    let ((subscribers, KeyNames { called_users, contents }), id) = (served.parts()?, id_of(path)?);
    let body = body::received(request, BODY_BYTES_MAX).await?;
    let SubscriberBody { url, types, mut filter, users, names, batch, secret } =
        decode_subscriber(&body, called_users.0.is_some(), ids_of(contents.as_ref()))?;
    if let Some(contents) = contents
        && let [index, ..] = contents.require(&names).await?[..]
    {
        let complaint = "its number belongs to another content";
        return Err(Problem::invalid(format!("filter.contents[{index}]: {complaint}")));
    }
    filter.users = called_users.all_changed(users).await?.into_iter().map(|user| user.id).collect();
    let url = subscribers.endpoint(&url).map_err(|error| Problem::invalid(format!("url: {error}")))?;
    let put = subscribers.put(&id, Definition { url, types, filter, batch, secret }).await?;
    let status = if put.made { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, served.shown(&put.owner, put.secret.as_ref()).await?).into_response())
}

/// `DELETE /v1/subscribers/{id}`. Also of one that was deleted: no try begins after the answer.
async fn delete(State(served): State<Served>, path: IdPath, uri: Uri) -> Result<StatusCode, Problem> {
    query::none(&uri)?;
    served.get()?.delete(&id_of(path)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /v1/subscribers/{id}/pause`
async fn pause(State(served): State<Served>, path: IdPath, request: Request) -> Result<Response, Problem> {
    let (subscribers, id) = bodiless(&served, path, request).await?;
    served.shown(&subscribers.pause(&id).await?, None).await
}

/// `POST /v1/subscribers/{id}/resume`
async fn resume(State(served): State<Served>, path: IdPath, request: Request) -> Result<Response, Problem> {
    let (subscribers, id) = bodiless(&served, path, request).await?;
    served.shown(&subscribers.resume(&id).await?, None).await
}

/// `POST /v1/subscribers/{id}/rotate`
async fn rotate(State(served): State<Served>, path: IdPath, request: Request) -> Result<Response, Problem> {
    let (subscribers, id) = bodiless(&served, path, request).await?;
    Ok(body::answered(encode_secret(&subscribers.rotate(&id).await?)))
}

/// `POST /v1/subscribers/{id}/replay`
async fn replay(State(served): State<Served>, path: IdPath, request: Request) -> Result<Response, Problem> {
    query::none(request.uri())?;
    let (subscribers, id) = (served.get()?, id_of(path)?);
    let since = decode_replay(&body::received(request, BODY_BYTES_MAX).await?)?;
    let owner = subscribers.replay(&id, since).await?;
    Ok((StatusCode::ACCEPTED, served.shown(&owner, None).await?).into_response())
}

/// `GET /v1/subscribers/{id}/dead?after=&limit=`
async fn dead(State(served): State<Served>, path: IdPath, uri: Uri) -> Result<Response, Problem> {
    let (after, limit) = query::dead_letters(&uri)?;
    let dead = served.get()?.dead(&id_of(path)?, after, limit).await?;
    Ok(body::answered(encode_dead(&dead, after)))
}

/// `POST /v1/subscribers/{id}/dead/resend`
async fn resend(State(served): State<Served>, path: IdPath, request: Request) -> Result<Response, Problem> {
    let (subscribers, id) = bodiless(&served, path, request).await?;
    let resent = subscribers.resend(&id).await?;
    Ok((StatusCode::ACCEPTED, body::answered(encode_resent(resent))).into_response())
}

/// Takes a POST whose body is empty or an empty object.
async fn bodiless(served: &Served, path: IdPath, request: Request) -> Result<(&Subscribers, SubscriberId), Problem> {
    query::none(request.uri())?;
    let (subscribers, id) = (served.get()?, id_of(path)?);
    let body = body::received(request, BODY_BYTES_MAX).await?;
    match body.trim_ascii() {
        b"" | b"{}" => Ok((subscribers, id)),
        _ => Err(Problem::invalid("body: this call takes none")),
    }
}

fn id_of(path: IdPath) -> Result<SubscriberId, Problem> {
    let Path(id) = path.map_err(|_| Problem::invalid("path: must be UTF-8"))?;
    id.parse().map_err(|error| Problem::invalid(format!("id: {error}")))
}
