//! The day of the rewards, which the demo page may move forward, so that a demo need not wait for midnight.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use http::HeaderMap;
use serde::{Deserialize, Serialize};

use super::DemoContext;
use super::same_page::refuse_other_pages;
use crate::http::body;
use crate::http::problem::Problem;
use domain::rewards::today::Today;
use domain::time::clock::Clock;

const BODY_BYTES_MAX: usize = 1024;
/// The longest move. The day never goes back, so a typing error must not move it to the end of the calendar.
const FORWARD_MAX: Duration = Duration::from_secs(366 * 24 * 3600);

/// The clock of the rewards: the server clock plus the moves so far. Records and `at` are not affected.
#[derive(Clone)]
pub struct RewardsClock {
    pub today: Arc<Today>,
    /// The server's.
    pub clock: Arc<Clock>,
}

#[derive(Serialize)]
struct Shown<'a> {
    day: String,
    zone: &'a str,
    /// Milliseconds until the next day begins.
    midnight: u64,
}

#[derive(Deserialize)]
struct ClockBody {
    forward: u64,
}

/// `GET /demo/clock`: `{"day":"2026-11-20","zone":"UTC","midnight":3600000}`.
pub async fn get(State(context): State<DemoContext>, headers: HeaderMap) -> Result<Response, Problem> {
    refuse_other_pages(&headers)?;
    Ok(shown(&clock(&context)?))
}

/// `POST /demo/clock` `{"forward":3600000}`, in milliseconds; answered like `GET`, with the day after that.
pub async fn post(State(context): State<DemoContext>, request: Request) -> Result<Response, Problem> {
    refuse_other_pages(request.headers())?;
    let clock = clock(&context)?;
    let by = decode(&body::received(request, BODY_BYTES_MAX).await?)?;
    clock.today.forward(by);
    tracing::warn!(
        event = "demo_clock_moved",
        forward_ms = by.as_millis() as u64,
        "rewards clock moved forward by the demo"
    );
    Ok(shown(&clock))
}

fn clock(context: &DemoContext) -> Result<RewardsClock, Problem> {
    context.clock.clone().ok_or_else(|| Problem::not_found("the rewards' clock cannot be moved: demo.clock is false"))
}

fn decode(body: &[u8]) -> Result<Duration, Problem> {
    let ClockBody { forward } =
        serde_json::from_slice(body).map_err(|error| Problem::invalid(format!("body: {error}")))?;
    let by = Duration::from_millis(forward);
    if by > FORWARD_MAX {
        return Err(Problem::invalid(format!("forward: must be at most {} milliseconds", FORWARD_MAX.as_millis())));
    }
    Ok(by)
}

fn shown(RewardsClock { today, clock }: &RewardsClock) -> Response {
    let now = clock.now();
    let (reward_day, end) = today.day_and_end(now);
    let midnight = end.saturating_sub(now);
    let shown = Shown { day: reward_day.day.to_string(), zone: &reward_day.zone, midnight };
    body::answered(serde_json::to_string(&shown).expect("text and a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_moves_forward_by_at_most_366_days() {
        let decoded = |body: &str| decode(body.as_bytes()).map(|by| by.as_millis() as u64).ok();
        assert_eq!(decoded(r#"{"forward":0}"#), Some(0));
        assert_eq!(decoded(r#"{"forward":31622400000}"#), Some(31_622_400_000));
        for bad in
            ["", "{}", r#"{"forward":-1}"#, r#"{"forward":"1"}"#, r#"{"forward":1.5}"#, r#"{"forward":31622400001}"#]
        {
            assert_eq!(decoded(bad), None, "{bad}");
        }
    }
}
