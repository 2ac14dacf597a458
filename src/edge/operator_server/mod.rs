//! The HTTP server of the probe and the control listener: few connections, one request each, with a time limit.
//!
//! Whatever a client does (slow headers, a slow body, an answer that is not read), it takes one permit for a bounded
//! time. Connections without a request keep no other client out, however many they are. A stream gives its permit back
//! when it begins ([`LongAnswer`]).

mod long_answer;
mod permits;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt;

use self::permits::{Permit, Permits};

pub use self::long_answer::LongAnswer;

const BUFFER_BYTES: usize = 16 * 1024;
/// After an error such as "too many open files" accepting rests for a moment.
const ACCEPT_REST: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections at a time. One more takes the permit of the connection that has waited longest for its request, and
    /// is closed at once if all connections have a request.
    pub connections: usize,
    /// From the accepted connection to the end of the request's head.
    pub head: Duration,
    /// From the accepted connection to the end of the answer, if it is no [`LongAnswer`].
    pub request: Duration,
}

/// Serves until it is dropped.
pub async fn serve(listener: TcpListener, router: Router, bounds: Bounds) {
    let permits = Permits::new(bounds.connections);
    loop {
        match listener.accept().await {
            Ok((stream, source)) => {
                let Some((permit, eviction)) = permits.take().await else {
                    tracing::debug!(%source, "connection refused: too many requests in progress");
                    continue;
                };
                let router = router.clone();
                tokio::spawn(async move {
                    tokio::select! {
                        () = answer(stream, source, router, bounds, permit) => {}
                        () = eviction.happens() => {
                            tracing::debug!(%source, "closed without a request: its permit was needed");
                        }
                    }
                });
            }
            Err(error) => {
                tracing::warn!(event = "accept_failed", %error, "cannot accept connections; retrying");
                tokio::time::sleep(ACCEPT_REST).await;
            }
        }
    }
}

async fn answer(stream: TcpStream, source: SocketAddr, router: Router, bounds: Bounds, permit: Permit) {
    let long_answer = LongAnswer::of(permit);
    let service = service_fn(|mut request: Request<Incoming>| {
        let is_kept = long_answer.keep();
        request.extensions_mut().insert(ConnectInfo(source));
        request.extensions_mut().insert(long_answer.clone());
        let answer = router.clone().oneshot(request.map(Body::new));
        async move {
            match is_kept {
                true => answer.await,
                // Nothing of it is done.
                false => pending::<Result<_, Infallible>>().await,
            }
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head)
        .keep_alive(false)
        .max_buf_size(BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let answered = tokio::select! {
        answered = &mut connection => answered,
        () = long_answer.begun() => connection.await,
        () = tokio::time::sleep(bounds.request) => {
            return tracing::debug!(%source, "closed: the request took longer than {:?}", bounds.request);
        }
    };
    if let Err(error) = answered {
        tracing::debug!(%source, %error, "HTTP connection failed");
    }
}
