//! The widget: live numbers for any web page, on the public listener, without a token.
//!
//! ```text
//! metrics ─▶ headers ─▶ body::refuse_unread ─▶ refuse_often ─▶ v1.json, v1.svg (made once a second), v1.js
//! ```

mod badge;
mod metrics;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use http::{HeaderValue, header};
use parking_lot::Mutex;

use crate::address::{ClientAddress, Network};
use crate::http::body;
use crate::http::problem::{self, Problem};
use crate::limits::rates::Rates;
use crate::protocol::json::encode_widget;
use domain::content_names::{ContentNamesUnavailable, NamedContents, texts_of};
use domain::live::board::{LiveBoard, LiveView};
use model::content_name::ContentTexts;

pub use metrics::Metrics;

const SCRIPT: &str = include_str!("v1.js");
const CACHING: HeaderValue = HeaderValue::from_static("public, max-age=2");
/// An image that runs and loads nothing, wherever it is opened.
const BADGE_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'");

/// The public live numbers.
pub struct WidgetConfig {
    /// Contents with fewer users are left out.
    pub users_min: u32,
    /// Requests of one address.
    pub per_second: u32,
}

/// Shared by all threads.
pub struct Widget {
    board: Arc<LiveBoard>,
    /// `None`: contents are named by numbers.
    contents: Option<NamedContents>,
    config: WidgetConfig,
    rates: Rates<Network>,
    newest: Mutex<Option<(Arc<LiveView>, Answers)>>,
    metrics: Metrics,
}

/// Those of one second.
#[derive(Clone)]
struct Answers {
    json: Bytes,
    badge: Bytes,
}

impl Widget {
    pub fn new(
        board: Arc<LiveBoard>,
        contents: Option<NamedContents>,
        config: WidgetConfig,
        metrics: Metrics,
    ) -> Arc<Self> {
        let rates = Rates::new(config.per_second, config.per_second);
        Arc::new(Widget { board, contents, config, rates, newest: Mutex::default(), metrics })
    }

    async fn answers(&self) -> Result<Answers, ContentNamesUnavailable> {
        let view = self.board.newest();
        let texts = texts_of(self.contents.as_ref(), view.widget_contents()).await?;
        let mut newest = self.newest.lock();
        Ok(match &*newest {
            Some((of, answers)) if Arc::ptr_eq(of, &view) => answers.clone(),
            _ => {
                let answers = self.answers_of(&view, &texts);
                *newest = Some((view, answers.clone()));
                answers
            }
        })
    }

    fn answers_of(&self, view: &LiveView, texts: &ContentTexts) -> Answers {
        let watching = view.widget_users;
        let top = view.widget_top.iter().filter(|(_, users)| *users >= self.config.users_min);
        Answers { json: encode_widget(view.at, watching, top, texts).into(), badge: badge::of(watching).into() }
    }
}

/// To be merged into the router of the public listener, whose fallback answers for all other paths.
pub fn router(widget: Arc<Widget>) -> Router {
    Router::new()
        .route("/widget/v1.json", get(json))
        .route("/widget/v1.js", get(script))
        .route("/widget/v1.svg", get(svg))
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(from_fn_with_state(widget.clone(), refuse_often))
        .layer(from_fn(body::refuse_unread))
        .layer(map_response(for_all_pages))
        .layer(from_fn_with_state(widget.clone(), metrics::count))
        .with_state(widget)
}

async fn json(State(widget): State<Arc<Widget>>) -> Result<Response, Problem> {
    let about =
        [(header::CONTENT_TYPE, HeaderValue::from_static("application/json")), (header::CACHE_CONTROL, CACHING)];
    Ok((about, widget.answers().await?.json).into_response())
}

async fn svg(State(widget): State<Arc<Widget>>) -> Result<Response, Problem> {
    let about = [
        (header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml")),
        (header::CACHE_CONTROL, CACHING),
        (header::CONTENT_SECURITY_POLICY, BADGE_POLICY),
    ];
    Ok((about, widget.answers().await?.badge).into_response())
}

async fn script() -> Response {
    let content_type = HeaderValue::from_static("text/javascript; charset=utf-8");
    ([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, CACHING)], SCRIPT).into_response()
}

async fn refuse_often(State(widget): State<Arc<Widget>>, request: Request, next: Next) -> Response {
    let client = request.extensions().get::<ClientAddress>();
    match client.map_or(Ok(()), |client| widget.rates.count(&Network::of(client.0))) {
        Ok(()) => next.run(request).await,
        Err(wait) => {
            Problem::too_fast("more requests than live.widget_per_second from this address", wait).into_response()
        }
    }
}

/// Pages of any origin may read and embed each answer, errors included.
async fn for_all_pages(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Retry-After"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests;
