//! `POST /v1/reload`: keys, certificates and the country file are read again. It does what SIGHUP does, and says what came
//! of it: an image has no `kill`.

use std::sync::Arc;

use axum::Router;
use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::post;

use crate::http::problem::Problem;
use crate::http::{body, query};

/// One thing that was read again.
pub struct Reread {
    pub what: &'static str,
    /// Why it stays as it was.
    pub result: Result<(), String>,
}

/// Reads all of it again. Waits for the disk.
pub type Reload = Arc<dyn Fn() -> Vec<Reread> + Send + Sync>;

/// To be merged into the router of the control listener, whose guard lets calls in.
pub fn routes(reload: Reload) -> Router {
    Router::new().route("/v1/reload", post(run)).with_state(reload)
}

/// 409 if something cannot be used: that stays as it was, and the rest is read all the same.
async fn run(State(reload): State<Reload>, request: Request) -> Result<Response, Problem> {
    query::none(request.uri())?;
    if !request.body().is_end_stream() {
        return Err(Problem::invalid("body: this path takes none"));
    }
    let broken_off = |_| Problem::store_away("the reload was broken off");
    let all = tokio::task::spawn_blocking(move || reload()).await.map_err(broken_off)?;
    let failed: Vec<_> = all.iter().filter_map(|one| Some((one.what, one.result.as_ref().err()?))).collect();
    if !failed.is_empty() {
        let failed: Vec<_> = failed.into_iter().map(|(what, why)| format!("{what}: {why}")).collect();
        return Err(Problem::conflict(format!("{}; what was there stays in force", failed.join("; "))));
    }
    let names: Vec<_> = all.iter().map(|one| one.what).collect();
    Ok(body::answered(serde_json::json!({"reloaded": names}).to_string()))
}
