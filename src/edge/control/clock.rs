//! `/v1/clock`: whether the wall clock is believed, and the acceptance of its step by an operator.

use std::sync::Arc;

use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::response::Response;
use http::Uri;

use super::Control;
use crate::http::problem::Problem;
use crate::http::{body, query};
use domain::time::guard::{Clocks, TooFarAhead};

/// Both clocks, the step of the wall clock that is in doubt, and the distance of the store's clock.
pub async fn get(State(control): State<Arc<Control>>, uri: Uri) -> Result<Response, Problem> {
    query::none(&uri)?;
    Ok(shown(&control.clock_status.clocks()))
}

/// Answered like `GET`, with the clocks after the acceptance; succeeds also if no step is in doubt. 409 if only a
/// restart helps.
pub async fn accept(State(control): State<Arc<Control>>, request: Request) -> Result<Response, Problem> {
    query::none(request.uri())?;
    if !request.body().is_end_stream() {
        return Err(Problem::invalid("body: this path takes none"));
    }
    let step = control.clock_status.accept().map_err(|TooFarAhead(by)| {
        let by = humantime::format_duration(by);
        Problem::conflict(format!(
            "the gateway's clock is {by} ahead of the wall clock, and does not go back while it runs; restart the gateway"
        ))
    })?;
    if let Some(step_ms) = step {
        tracing::warn!(event = "clock_accepted", step_ms, "step of the wall clock accepted by an operator");
    }
    Ok(shown(&control.clock_status.clocks()))
}

fn shown(Clocks { wall, server, step, apart, is_off }: &Clocks) -> Response {
    let shown = serde_json::json!({"wall": wall, "server": server, "step": step, "apart": apart, "off": is_off});
    body::answered(shown.to_string())
}
