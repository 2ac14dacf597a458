//! Requests about views and counters that gateways without a store pass on.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn;
use http_body_util::BodyExt;
use tonic::Status;
use tower::ServiceExt;

use super::malformed;
use crate::context::ConnectionContext;
use crate::control;
use crate::control::counter_keys::KeyNames;
use crate::http::{self, body, passed_on, problem};
use domain::counters::Counters;
use domain::elsewhere::{By, ForwardedAnswer};
use domain::gateway_messages::{forwarded, wire};

/// The routes of this process that answer forwarded requests.
#[derive(Clone)]
pub struct Routes {
    /// The routes of the public listener.
    public: Router,
    /// The routes of the control listener.
    control: Router,
}

impl Routes {
    pub fn new(context: Arc<ConnectionContext>, counters: Arc<Counters>, names: KeyNames) -> Self {
        let ids = context.content_ids();
        let views = context.views.clone().map(|views| control::views::routes(views, ids)).unwrap_or_default();
        let control = control::counters::routes(counters, names).merge(views);
        Routes { public: of_gateways(http::views(context)), control: of_gateways(control) }
    }

    pub async fn answer(&self, request: wire::ForwardRequest) -> Result<wire::ForwardResponse, Status> {
        let request = forwarded::decode(request).map_err(malformed)?;
        let router = if request.by == By::Operator { &self.control } else { &self.public };
        let no_request = || Status::invalid_argument("it is no request over HTTP");
        let request = passed_on::request(request).ok_or_else(no_request)?;
        let Ok(answer) = router.clone().oneshot(request).await;
        let (head, body) = answer.into_parts();
        let broken_off = |_| Status::unavailable("the answer was broken off");
        let body = body.collect().await.map_err(broken_off)?.to_bytes().to_vec();
        let (status, headers) = (head.status.as_u16(), passed_on::answer_headers(&head.headers));
        Ok(forwarded::encode_answer(ForwardedAnswer { status, headers, body }))
    }
}

/// As strict as the listeners are.
fn of_gateways(routes: Router) -> Router {
    routes
        .fallback(problem::no_such_path)
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(from_fn(body::refuse_unread))
}
