//! Which process serves the page, so that the page can tell a restart from a lost connection and name what to kill; and
//! whether there are history packs to show.

use std::sync::LazyLock;

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use serde::Serialize;

use super::DemoContext;
use super::same_page::refuse_other_pages;
use crate::edge::http::body;
use crate::edge::http::problem::Problem;

/// Differs after every start, even where a process gets the number of the one before it.
static INSTANCE: LazyLock<String> = LazyLock::new(|| format!("{:016x}", rand::random::<u64>()));

#[derive(Serialize)]
struct Shown<'a> {
    pid: u32,
    instance: &'a str,
    /// Where the source is; empty where the package does not say.
    repository: &'a str,
    /// Whether this gateway sends history packs, which `/demo/packs` then shows.
    packs: bool,
}

/// `GET /demo/process`: `{"pid":4711,"instance":"9f86d081884c7d65","repository":"","packs":false}`.
pub async fn get(State(context): State<DemoContext>, headers: HeaderMap) -> Result<Response, Problem> {
    refuse_other_pages(&headers)?;
    let shown = Shown {
        pid: std::process::id(),
        instance: &INSTANCE,
        repository: env!("CARGO_PKG_REPOSITORY"),
        packs: context.packs.is_some(),
    };
    Ok(body::answered(serde_json::to_string(&shown).expect("numbers and text")))
}
