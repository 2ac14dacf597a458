//! `/v1/counters/{id}`: reads of the counters, and changes of those that are counted by requests.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{Method, StatusCode, Uri};

use super::counter_keys::KeyNames;
use crate::http::problem::Problem;
use crate::http::{body, query};
use crate::protocol::json::{
    decode_addition, decode_counter_keys, decode_recount, encode_counter_top, encode_counter_value,
    encode_counter_values, encode_job, encode_recount,
};
use domain::counters::{Counter, Counters};
use model::counters::direct::{Added, DirectCounter};
use model::counters::{CounterId, CounterKey, Recount};

/// 500 keys of 8 parts of 128 bytes, or of 7 and the name of a user.
pub const BODY_BYTES_MAX: usize = 1 << 20;

type CounterPath = Result<Path<String>, PathRejection>;

/// The counters of the settings, and the names in their keys.
#[derive(Clone)]
struct Served {
    counters: Arc<Counters>,
    names: KeyNames,
}

/// To be merged into the router of the control listener, whose guard lets calls in.
pub fn routes(counters: Arc<Counters>, names: KeyNames) -> Router {
    Router::new()
        .route("/v1/counters/{id}", get(value).post(add).delete(reset))
        .route("/v1/counters/{id}/get", post(values))
        .route("/v1/counters/{id}/top", get(top))
        .route("/v1/counters/{id}/recount", post(recount))
        .route("/v1/jobs/{job}", get(job))
        .with_state(Served { counters, names })
}

/// `GET /v1/counters/{id}?key=…&key=…`
async fn value(State(served): State<Served>, path: CounterPath, uri: Uri) -> Result<Response, Problem> {
    let counter = served.counter_of(path)?;
    let key = query::counter_key(&uri, counter.parts())?;
    let values = served.values(&counter, vec![key]).await?;
    Ok(body::answered(encode_counter_value(values.first().copied().unwrap_or_default())))
}

/// `POST /v1/counters/{id}/get`
async fn values(State(served): State<Served>, path: CounterPath, request: Request) -> Result<Response, Problem> {
    query::none(request.uri())?;
    let counter = served.counter_of(path)?;
    let body = body::received(request, BODY_BYTES_MAX).await?;
    let keys = decode_counter_keys(&body, counter.parts())?;
    Ok(body::answered(encode_counter_values(&served.values(&counter, keys).await?)))
}

/// `GET /v1/counters/{id}/top?limit=100&key=…`
async fn top(State(served): State<Served>, path: CounterPath, uri: Uri) -> Result<Response, Problem> {
    let counter = served.counter_of(path)?;
    let (prefix, limit) = query::counter_top(&uri, counter.parts())?;
    let parts = served.names.of(&counter);
    let prefix = parts.counted(vec![prefix]).await?.remove(0);
    let top = served.counters.top(&counter, prefix, limit).await?;
    let keys = parts.told(top.iter().map(|(key, _)| key)).await?;
    let top: Vec<_> = keys.into_iter().zip(top).map(|(key, (_, value))| (key, value)).collect();
    Ok(body::answered(encode_counter_top(&top)))
}

/// `POST /v1/counters/{id}`
async fn add(State(served): State<Served>, path: CounterPath, request: Request) -> Result<Response, Problem> {
    query::none(request.uri())?;
    let counter = served.direct(path)?;
    let body = body::received(request, BODY_BYTES_MAX).await?;
    let addition = decode_addition(&body, &counter.key)?;
    match served.counters.add(&counter, addition.key, addition.by, addition.id.map(Arc::from)).await? {
        Added::Done { value, .. } | Added::Repeated { value } => Ok(body::answered(encode_counter_value(value))),
        Added::PassesBound { value } => {
            let (min, max) = (counter.min, counter.max);
            Err(Problem::bounds(format!("by: the value is {value} and must stay from {min} to {max}"), value))
        }
        Added::IdReused => Err(Problem::id_reused("id: was given to a request with another key or by")),
    }
}

/// `DELETE /v1/counters/{id}?key=…`. Succeeds also if nothing was counted.
async fn reset(State(served): State<Served>, path: CounterPath, uri: Uri) -> Result<StatusCode, Problem> {
    let counter = served.direct(path)?;
    let key = query::counter_key(&uri, &counter.key)?;
    served.counters.reset(&counter, key).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /v1/counters/{id}/recount`
async fn recount(State(served): State<Served>, path: CounterPath, request: Request) -> Result<Response, Problem> {
    query::none(request.uri())?;
    let counter = served.counter_of(path)?;
    let derived = match &counter {
        Counter::Derived(derived) => derived,
        Counter::Direct(counter) => {
            let why = format!("{} is a direct counter: only a derived one can be counted anew", counter.id);
            return Err(Problem::method(&[], why));
        }
    };
    let body = body::received(request, BODY_BYTES_MAX).await?;
    let keys = decode_recount(&body, &derived.key)?;
    let keys = served.names.of(&counter).counted(keys).await?;
    let name = served.counters.recount(derived, keys).await?;
    Ok((StatusCode::ACCEPTED, body::answered(encode_job(&name))).into_response())
}

/// `GET /v1/jobs/{job}`
async fn job(State(served): State<Served>, path: CounterPath, uri: Uri) -> Result<Response, Problem> {
    query::none(&uri)?;
    let Path(name) = path.map_err(|_| Problem::invalid("path: must be UTF-8"))?;
    match served.counters.recounted(name).await? {
        Some((id, recount)) => Ok(body::answered(encode_recount(&served.told(&id, recount).await?))),
        None => Err(Problem::not_found("there is no such job, or it ended more than 24 hours ago")),
    }
}

impl Served {
    fn direct(&self, path: CounterPath) -> Result<Arc<DirectCounter>, Problem> {
        match self.counter_of(path)? {
            Counter::Direct(counter) => Ok(counter),
            Counter::Derived(counter) => {
                let why = format!(
                    "{} is a derived counter: it follows from the records, and no request changes it",
                    counter.id
                );
                Err(Problem::method(&[Method::GET], why))
            }
        }
    }

    fn counter_of(&self, path: CounterPath) -> Result<Counter, Problem> {
        let Path(id) = path.map_err(|_| Problem::invalid("path: must be UTF-8"))?;
        let counter = id.parse::<CounterId>().ok().and_then(|id| self.counters.of(&id));
        counter.ok_or_else(|| Problem::not_found("there is no such counter; the settings of [counters] list them"))
    }

    /// In the order asked.
    async fn values(&self, counter: &Counter, keys: Vec<CounterKey>) -> Result<Vec<i64>, Problem> {
        let keys = self.names.of(counter).counted(keys).await?;
        Ok(self.counters.values(counter, keys).await?)
    }

    /// The recount of this counter, as callers are told of it.
    async fn told(&self, id: &CounterId, mut recount: Recount) -> Result<Recount, Problem> {
        if let Some(counter) = self.counters.of(id) {
            let parts = self.names.of(&counter);
            let keys = parts.told(recount.differences.iter().map(|difference| &difference.key)).await?;
            recount.differences.iter_mut().zip(keys).for_each(|(difference, key)| difference.key = key);
        }
        Ok(recount)
    }
}
