//! The address that clients and their harness use: one for sockets, requests and instructions.

use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::spawn_local;

use super::answer::{Answer, problem, respond};
use super::kit::Kit;
use super::requests;
use super::upgrade;

const BODY_BYTES_MAX: usize = 1 << 20;
/// After an error such as "too many open files" accepting rests for a moment.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// Serves until it is dropped.
pub async fn serve(listener: TcpListener, kit: Rc<Kit>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                let kit = kit.clone();
                spawn_local(async move {
                    let service = service_fn(move |request| answer(request, kit.clone()));
                    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                    // A client that breaks off is no error of ours.
                    let _ = connection.with_upgrades().await;
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_REST).await,
        }
    }
}

async fn answer(request: Request<Incoming>, kit: Rc<Kit>) -> Result<Answer, Infallible> {
    let mut answer = match (request.method(), request.uri().path()) {
        (&Method::OPTIONS, _) => respond(StatusCode::NO_CONTENT, &Value::Null),
        (_, "/v1/connect") => upgrade::respond_to(request, &kit),
        (_, "/conformance/next") => next(request, &kit).await,
        (_, "/conformance/token") => token(&request, &kit),
        _ => operation(request, &kit).await,
    };
    // The client may be a page, which is served by something else.
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("authorization, content-type"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PUT, DELETE"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

/// Waits until there is something to do.
async fn next(request: Request<Incoming>, kit: &Rc<Kit>) -> Answer {
    let worker = query(request.uri().query(), "worker").unwrap_or_default();
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let Some(told) = kit.ask(worker, format!("http://{host}")) else {
        let detail = "worker: asks once more before it was answered; two workers need two names";
        return problem(StatusCode::TOO_MANY_REQUESTS, "too_fast", detail);
    };
    respond(StatusCode::OK, &told.await.unwrap_or_else(|_| json!({"do": "done"})))
}

fn token(request: &Request<Incoming>, kit: &Kit) -> Answer {
    let user = query(request.uri().query(), "user").and_then(|user| user.parse().ok());
    match user.and_then(|user| kit.gateway(user)) {
        Some(gateway) => respond(StatusCode::OK, &json!({"token": gateway.issue()})),
        None => problem(StatusCode::NOT_FOUND, "not_found", "user: none of a scenario that is played"),
    }
}

/// Answers over HTTP as a real gateway does, as far as clients use it.
async fn operation(request: Request<Incoming>, kit: &Kit) -> Answer {
    let (parts, body) = request.into_parts();
    let Ok(body) = Limited::new(body, BODY_BYTES_MAX).collect().await else {
        return problem(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "body");
    };
    let token = upgrade::bearer(&parts.headers).and_then(|token| kit.tokens.find(token));
    let Some(gateway) = token.and_then(|token| kit.gateway(token.user)) else {
        return problem(StatusCode::UNAUTHORIZED, "unauthorized", "bad signature");
    };
    let body = body.to_bytes();
    requests::answer(&gateway, &parts, &serde_json::from_slice(&body).unwrap_or_default(), body.len())
}

/// A field of a query. None of those that are used here needs decoding.
fn query<'a>(query: Option<&'a str>, name: &str) -> Option<&'a str> {
    query?.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}
