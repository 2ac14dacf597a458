//! At level debug a line for each request, with the user's hash, so that one user can be followed.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{Method, StatusCode};

use crate::address::ClientAddress;
use crate::context::ConnectionContext;
use model::ids::UserId;

/// The user of a request, once the token is checked: an extension of requests that are logged.
#[derive(Clone, Default)]
pub struct RequestUser(Arc<OnceLock<UserId>>);

impl RequestUser {
    pub fn is(&self, user: UserId) {
        // A request has one token, so this is said once.
        let _ = self.0.set(user);
    }
}

/// To be put around everything else that answers.
pub async fn log(State(context): State<Arc<ConnectionContext>>, mut request: Request, next: Next) -> Response {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return next.run(request).await;
    }
    let user = RequestUser::default();
    request.extensions_mut().insert(user.clone());
    let mut line = Line {
        user,
        address: request.extensions().get::<ClientAddress>().map(|client| client.0),
        method: request.method().clone(),
        route: request.extensions().get::<MatchedPath>().cloned(),
        began: Instant::now(),
        status: None,
        context,
    };
    let response = next.run(request).await;
    line.status = Some(response.status());
    response
}

/// One request. It is logged when it is over, even if its client has gone before the answer, since its effect may be done.
struct Line {
    user: RequestUser,
    address: Option<IpAddr>,
    method: Method,
    /// `None`: there is no such path. The path itself is the client's, which may have put a token there.
    route: Option<MatchedPath>,
    began: Instant,
    /// `None`: there was no answer.
    status: Option<StatusCode>,
    context: Arc<ConnectionContext>,
}

impl Drop for Line {
    fn drop(&mut self) {
        tracing::debug!(
            event = "request",
            user = self.user.0.get().map(|user| display(self.context.mid_hash.of(*user))),
            address = self.address.map(display),
            method = %self.method,
            route = self.route.as_ref().map(MatchedPath::as_str),
            status = self.status.map(|status| status.as_u16()),
            seconds = self.began.elapsed().as_secs_f64(),
            "request"
        );
    }
}
