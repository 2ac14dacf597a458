//! `/v1/counters/{id}`: reads of the counters, and changes of those that are counted by requests.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{Method, StatusCode, Uri};

use crate::http::problem::Problem;
use crate::http::{body, query};
use crate::protocol::json::{
    decode_addition, decode_counter_keys, decode_recount, encode_counter_top, encode_counter_value,
    encode_counter_values, encode_job, encode_recount,
};
use domain::counters::{Counter, Counters};
use model::counters::CounterId;
use model::counters::direct::{Added, DirectCounter};

/// 500 keys of 8 parts of 128 bytes.
pub const BODY_BYTES_MAX: usize = 1 << 20;

type CounterPath = Result<Path<String>, PathRejection>;

/// To be merged into the router of the control listener, whose guard lets calls in.
pub fn routes(counters: Arc<Counters>) -> Router {
    Router::new()
        .route("/v1/counters/{id}", get(value).post(add).delete(reset))
        .route("/v1/counters/{id}/get", post(values))
        .route("/v1/counters/{id}/top", get(top))
        .route("/v1/counters/{id}/recount", post(recount))
        .route("/v1/jobs/{job}", get(job))
        .with_state(counters)
}

/// `GET /v1/counters/{id}?key=…&key=…`
async fn value(State(counters): State<Arc<Counters>>, path: CounterPath, uri: Uri) -> Result<Response, Problem> {
    let counter = counter_of(&counters, path)?;
    let key = query::counter_key(&uri, counter.parts())?;
    let values = counters.values(&counter, vec![key]).await?;
    Ok(body::answered(encode_counter_value(values.first().copied().unwrap_or_default())))
}

/// `POST /v1/counters/{id}/get`
async fn values(
    State(counters): State<Arc<Counters>>,
    path: CounterPath,
    request: Request,
) -> Result<Response, Problem> {
    query::none(request.uri())?;
    let counter = counter_of(&counters, path)?;
    let body = body::received(request, BODY_BYTES_MAX).await?;
    let keys = decode_counter_keys(&body, counter.parts())?;
    Ok(body::answered(encode_counter_values(&counters.values(&counter, keys).await?)))
}

/// `GET /v1/counters/{id}/top?limit=100&key=…`
async fn top(State(counters): State<Arc<Counters>>, path: CounterPath, uri: Uri) -> Result<Response, Problem> {
    let counter = counter_of(&counters, path)?;
    let (prefix, limit) = query::counter_top(&uri, counter.parts())?;
    Ok(body::answered(encode_counter_top(&counters.top(&counter, prefix, limit).await?)))
}

/// `POST /v1/counters/{id}`
async fn add(State(counters): State<Arc<Counters>>, path: CounterPath, request: Request) -> Result<Response, Problem> {
    query::none(request.uri())?;
    let counter = direct(&counters, path)?;
    let body = body::received(request, BODY_BYTES_MAX).await?;
    let addition = decode_addition(&body, &counter.key)?;
    match counters.add(&counter, addition.key, addition.by, addition.id.map(Arc::from)).await? {
        Added::Done { value, .. } | Added::Repeated { value } => Ok(body::answered(encode_counter_value(value))),
        Added::PassesBound { value } => {
            let (min, max) = (counter.min, counter.max);
            Err(Problem::bounds(format!("by: the value is {value} and must stay from {min} to {max}"), value))
        }
        Added::IdReused => Err(Problem::id_reused("id: was given to a request with another key or by")),
    }
}

/// `DELETE /v1/counters/{id}?key=…`. Succeeds also if nothing was counted.
async fn reset(State(counters): State<Arc<Counters>>, path: CounterPath, uri: Uri) -> Result<StatusCode, Problem> {
    let counter = direct(&counters, path)?;
    let key = query::counter_key(&uri, &counter.key)?;
    counters.reset(&counter, key).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /v1/counters/{id}/recount`
async fn recount(
    State(counters): State<Arc<Counters>>,
    path: CounterPath,
    request: Request,
) -> Result<Response, Problem> {
    query::none(request.uri())?;
    let counter = match counter_of(&counters, path)? {
        Counter::Derived(counter) => counter,
        Counter::Direct(counter) => {
            let why = format!("{} is a direct counter: only a derived one can be counted anew", counter.id);
            return Err(Problem::method(&[], why));
        }
    };
    let body = body::received(request, BODY_BYTES_MAX).await?;
    let keys = decode_recount(&body, &counter.key)?;
    let name = counters.recount(&counter, keys).await?;
    Ok((StatusCode::ACCEPTED, body::answered(encode_job(&name))).into_response())
}

/// `GET /v1/jobs/{job}`
async fn job(State(counters): State<Arc<Counters>>, path: CounterPath, uri: Uri) -> Result<Response, Problem> {
    query::none(&uri)?;
    let Path(name) = path.map_err(|_| Problem::invalid("path: must be UTF-8"))?;
    match counters.recounted(name).await? {
        Some(recount) => Ok(body::answered(encode_recount(&recount))),
        None => Err(Problem::not_found("there is no such job, or it ended more than 24 hours ago")),
    }
}

fn direct(counters: &Counters, path: CounterPath) -> Result<Arc<DirectCounter>, Problem> {
    match counter_of(counters, path)? {
        Counter::Direct(counter) => Ok(counter),
        Counter::Derived(counter) => {
            let why =
                format!("{} is a derived counter: it follows from the records, and no request changes it", counter.id);
            Err(Problem::method(&[Method::GET], why))
        }
    }
}

fn counter_of(counters: &Counters, path: CounterPath) -> Result<Counter, Problem> {
    let Path(id) = path.map_err(|_| Problem::invalid("path: must be UTF-8"))?;
    let counter = id.parse::<CounterId>().ok().and_then(|id| counters.of(&id));
    counter.ok_or_else(|| Problem::not_found("there is no such counter; the settings of [counters] list them"))
}
