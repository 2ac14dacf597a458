//! Beats without a socket: what a page sends when it is hidden, and simple clients always.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use tokio::time::timeout;

use super::bearer::Caller;
use super::body;
use super::pending::Pending;
use super::problem::Problem;
use crate::domain::devices::mailbox::Rejected;
use crate::domain::ingest::lane::{Lane, Turn};
use crate::edge::desk::Desk;
use crate::edge::protocol::frame::Rejection;
use crate::edge::protocol::json::{BeatsTold, decode_beats_body, encode_beats_answer};

/// How long a long request may wait for others.
const TURN_MAX: Duration = Duration::from_secs(10);

/// `POST /v1/beats`: answered after the commit, and not before.
pub async fn post(State(desk): State<Arc<Desk>>, caller: Caller, request: Request) -> Result<Response, Problem> {
    let body = body::received(request, desk.limits.body_bytes).await?;
    let _turn = turn(&desk, body.len()).await?;
    let body = decode_beats_body(&body, &desk.frame_limits())?;
    let device = Arc::from(body.device.unwrap_or_default());
    let pending = Pending::new(&desk, caller.user, body.connection)?;
    let flag = body.beats.flag;
    let (rejected, news) = pending.beats(&device, flag, &body.beats.items).await?;
    let rejected: Vec<Rejection> = rejected.into_iter().map(rejection).collect();
    let flag = match news.flag {
        None => desk.arrivals.flag(caller.user).await,
        told => told,
    };
    let (now, today) = (desk.intake.clock.now(), desk.arrivals.today());
    let flag = flag.filter(|day| *day == today);
    let told = BeatsTold { now, today, flag, rejected: &rejected, rewards: &news.claims };
    Ok(body::answered(encode_beats_answer(&told, &desk.reading)))
}

/// A long request waits for its turn, as a long frame does, and has it until it is answered.
async fn turn(desk: &Desk, bytes: usize) -> Result<Option<Turn>, Problem> {
    if bytes < Lane::LONG_FRAME_BYTES {
        return Ok(None);
    }
    let turn = timeout(TURN_MAX, desk.intake.lane.turn()).await;
    turn.map(Some).map_err(|_| Problem::store_away("too much waits for the store"))
}

/// A request has no `seq`.
fn rejection(rejected: Rejected) -> Rejection {
    Rejection { seq: None, index: rejected.place.index, reason: rejected.reason, record: rejected.record }
}
