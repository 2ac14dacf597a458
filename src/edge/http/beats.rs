//! Beats without a socket: what a page sends when it is hidden, and simple clients always.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use tokio::time::timeout;

use super::bearer::Caller;
use super::pending::Pending;
use super::problem::Problem;
use super::{body, query};
use crate::address::ClientAddress;
use crate::context::ConnectionContext;
use crate::protocol::frame::Rejection;
use crate::protocol::json::{BeatsAnswer, decode_beats_body, encode_beats_answer};
use domain::devices::inbox::Rejected;
use domain::ingest::intake::Intake;
use domain::ingest::submit_queue::{LargeFramePermit, SubmitQueue};
use model::visitor::Visitor;

/// How long a long request may wait for others.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// `POST /v1/beats`: answered after the commit, and not before.
pub async fn post(
    State(context): State<Arc<ConnectionContext>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    query::none(request.uri())?;
    let visitor = visitor(&context, &request);
    let body = body::received(request, context.limits.body_bytes).await?;
    let intake = context.lanes.intake(context.lanes.of(caller.user));
    let _permit = large_frame_permit(intake, body.len()).await?;
    let body = decode_beats_body(&body, &context.frame_limits())?;
    let device = Arc::from(body.device.unwrap_or_default());
    let pending = Pending::new(&context, caller.user, body.connection, visitor)?;
    let flag = body.beats.flag;
    let misnamed = match &context.contents {
        Some(contents) => contents.require(&body.beats.names).await?,
        None => Vec::new(),
    };
    let (rejected, news) = pending.beats(&device, flag, &body.beats.items, &misnamed).await?;
    let rejected: Vec<Rejection> = rejected.into_iter().map(rejection).collect();
    let flag = match news.flag {
        None => context.connect_lookup.flag(caller.user).await,
        told => told,
    };
    let (now, today) = (context.clock.now(), context.connect_lookup.today());
    let flag = flag.filter(|day| *day == today);
    let told = BeatsAnswer { now, today, flag, rejected: &rejected, rewards: &news.claims, name: caller.name.as_ref() };
    let records = rejected.iter().filter_map(|rejection| rejection.record.as_ref()).map(|record| record.content);
    let texts = context.texts_of(records.chain(news.claims.iter().filter_map(|claim| claim.content))).await?;
    Ok(body::answered(encode_beats_answer(&told, context.telling(&texts))))
}

/// The class of the client. Only beats need it, since only they make a session live.
fn visitor(context: &ConnectionContext, request: &Request) -> Visitor {
    let address = request.extensions().get::<ClientAddress>();
    address.map(|client| context.visitors.of_request(request.headers(), client.0)).unwrap_or_default()
}

/// A long request waits for its turn, as a long frame does, and has it until it is answered.
async fn large_frame_permit(intake: &Intake, bytes: usize) -> Result<Option<LargeFramePermit>, Problem> {
    if bytes < SubmitQueue::LONG_FRAME_BYTES {
        return Ok(None);
    }
    let permit = timeout(WAIT_MAX, intake.submit_queue.large_frame_permit()).await;
    permit.map(Some).map_err(|_| Problem::store_away("too many requests wait for the store"))
}

/// A request has no `seq`.
fn rejection(rejected: Rejected) -> Rejection {
    Rejection { seq: None, index: rejected.beat_ref.index, reason: rejected.reason, record: rejected.record }
}
