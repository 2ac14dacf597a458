//! The stream of delivered history packs, for the page that shows them.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Uri};
use serde::Serialize;
use tokio::time::timeout;

use super::DemoContext;
use super::same_page::refuse_other_pages;
use crate::http::body::Streamed;
use crate::http::event_stream::{self, OpenStreams, StreamSlots};
use crate::http::problem::Problem;
use crate::http::query;
use domain::history_packs::feed::{DeliveredPack, PackFeed};

/// At a time: one for each page that shows packs.
const STREAMS: usize = 64;
/// As often as live numbers come, so that no stream takes longer than a request may between two pieces.
const STILL_HERE_EVERY: Duration = Duration::from_secs(1);
/// A comment, which is no event.
const STILL_HERE: &[u8] = b":\n\n";

/// The feed, and the slots of its streams.
#[derive(Clone)]
pub struct PackStreams {
    feed: Arc<PackFeed>,
    slots: StreamSlots,
}

#[derive(Serialize)]
struct Shown {
    region: u16,
    users: usize,
    bytes: usize,
}

impl PackStreams {
    pub fn new(feed: Arc<PackFeed>) -> Self {
        PackStreams { feed, slots: StreamSlots::new(STREAMS, OpenStreams::default()) }
    }
}

/// `GET /demo/packs`: a `pack` event for each pack that is delivered from then on, until the drain begins. A slow
/// client misses packs.
pub async fn stream(State(context): State<DemoContext>, headers: HeaderMap, uri: Uri) -> Result<Response, Problem> {
    refuse_other_pages(&headers)?;
    query::none(&uri)?;
    let none = || Problem::not_found("no history packs leave this gateway: history.store is none");
    let PackStreams { feed, slots } = context.packs.ok_or_else(none)?;
    let slot = slots.take("all streams of history packs are in use")?;
    let events = stream::unfold((feed.follow(), slot), async |(mut packs, slot)| {
        let piece = match timeout(STILL_HERE_EVERY, packs.next()).await {
            Ok(pack) => event_of(pack?),
            Err(_) => Bytes::from_static(STILL_HERE),
        };
        Some((piece, (packs, slot)))
    });
    let mut response = event_stream::answered(events, context.stop.draining());
    response.extensions_mut().insert(Streamed);
    Ok(response)
}

fn event_of(DeliveredPack { region, users, bytes }: DeliveredPack) -> Bytes {
    let shown = Shown { region: region.0, users, bytes };
    event_stream::event("pack", &serde_json::to_string(&shown).expect("numbers"))
}
