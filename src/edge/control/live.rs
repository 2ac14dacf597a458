//! `/v1/live`: the live numbers.

use std::future::pending;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, State};
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream;
use http::Uri;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;

use crate::http::content_path::{ContentPath, content};
use crate::http::event_stream::{self, OpenStreams, StreamSlots};
use crate::http::problem::Problem;
use crate::http::{body, query};
use crate::operator_server::LongAnswer;
use crate::protocol::json::{
    encode_live, encode_live_counts, encode_live_event, encode_series, encode_shares, encode_tail, encode_top,
};
use domain::content_names::{ContentNamesUnavailable, NamedContents, ids_of, texts_of};
use domain::live::board::{LiveBoard, LiveView};
use model::content_name::{ContentIds, ContentTexts};

/// The state of the routes.
pub struct LiveRoutes {
    board: Arc<LiveBoard>,
    /// `None`: contents are named by numbers.
    contents: Option<NamedContents>,
    slots: StreamSlots,
    /// The newest event, so that it is encoded once for all streams.
    event: Mutex<Option<(Arc<LiveView>, Bytes)>>,
}

impl LiveRoutes {
    /// `streams` at a time.
    pub fn new(
        board: Arc<LiveBoard>,
        contents: Option<NamedContents>,
        streams: usize,
        registry: &mut Registry,
    ) -> Self {
        let open = OpenStreams::default();
        registry.register("live_streams", "Open streams of live numbers", open.clone());
        LiveRoutes { board, contents, slots: StreamSlots::new(streams, open), event: Mutex::default() }
    }

    /// The board from which the numbers are read.
    pub fn board(&self) -> Arc<LiveBoard> {
        self.board.clone()
    }

    /// Server-Sent Events: the newest numbers at once, then those of each second, until `end` resolves. A slow client
    /// skips numbers: the next event is made when there is room for it.
    pub fn stream(self: &Arc<Self>, end: impl Future<Output: Send> + Send + 'static) -> Result<Response, Problem> {
        let slot = self.slots.take("all live.streams are in use")?;
        let mut views = self.board.follow();
        views.mark_changed();
        let events = stream::unfold((self.clone(), views, slot), async |(live, mut views, slot)| {
            loop {
                views.changed().await.ok()?;
                let view = views.borrow_and_update().clone();
                // Without the names of its contents a second is left out.
                if let Ok(event) = live.event_of(view).await {
                    return Some((event, (live, views, slot)));
                }
            }
        });
        Ok(event_stream::answered(events, end))
    }

    async fn event_of(&self, view: Arc<LiveView>) -> Result<Bytes, ContentNamesUnavailable> {
        let texts = self.texts_of(&view).await?;
        let mut newest = self.event.lock();
        Ok(match &*newest {
            Some((of, event)) if Arc::ptr_eq(of, &view) => event.clone(),
            _ => {
                let event = event_stream::event("live", &encode_live_event(&view, &texts));
                *newest = Some((view, event.clone()));
                event
            }
        })
    }

    async fn texts_of(&self, view: &LiveView) -> Result<ContentTexts, ContentNamesUnavailable> {
        texts_of(self.contents.as_ref(), view.contents()).await
    }

    pub fn content_ids(&self) -> ContentIds {
        ids_of(self.contents.as_ref())
    }
}

/// To be merged into the router of the control listener, whose guard lets calls in.
pub fn routes(live: Arc<LiveRoutes>) -> Router {
    Router::new()
        .route("/v1/live", get(numbers))
        .route("/v1/live/top", get(top))
        .route("/v1/live/series", get(series))
        .route("/v1/live/tail", get(tail))
        .route("/v1/live/shares", get(shares))
        .route("/v1/live/stream", get(streamed))
        .route("/v1/live/{kind}/{oid}", get(counts))
        .with_state(live)
}

async fn numbers(State(live): State<Arc<LiveRoutes>>, uri: Uri) -> Result<Response, Problem> {
    query::none(&uri)?;
    Ok(body::answered(encode_live(&live.board.newest())))
}

async fn counts(State(live): State<Arc<LiveRoutes>>, path: ContentPath, uri: Uri) -> Result<Response, Problem> {
    query::none(&uri)?;
    let (content, _) = content(path, live.content_ids())?;
    Ok(body::answered(encode_live_counts(live.board.counts(content))))
}

async fn top(State(live): State<Arc<LiveRoutes>>, uri: Uri) -> Result<Response, Problem> {
    let (limit, by) = query::top(&uri)?;
    let view = live.board.newest();
    let texts = live.texts_of(&view).await?;
    Ok(body::answered(encode_top(&view, limit, by, &texts)))
}

async fn series(State(live): State<Arc<LiveRoutes>>, uri: Uri) -> Result<Response, Problem> {
    query::none(&uri)?;
    Ok(body::answered(encode_series(&live.board.newest())))
}

async fn tail(State(live): State<Arc<LiveRoutes>>, uri: Uri) -> Result<Response, Problem> {
    let limit = query::tail(&uri)?;
    let view = live.board.newest();
    let texts = live.texts_of(&view).await?;
    Ok(body::answered(encode_tail(&view, limit, &texts)))
}

async fn shares(State(live): State<Arc<LiveRoutes>>, uri: Uri) -> Result<Response, Problem> {
    query::none(&uri)?;
    Ok(body::answered(encode_shares(&live.board.newest().shares)))
}

async fn streamed(
    State(live): State<Arc<LiveRoutes>>,
    Extension(long_answer): Extension<LongAnswer>,
    uri: Uri,
) -> Result<Response, Problem> {
    query::none(&uri)?;
    let answer = live.stream(pending::<()>())?;
    long_answer.begins();
    Ok(answer)
}
