//! The numbers of users who remember or have finished a content, for the page: no page may use the control listener.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, Uri};
use serde::Serialize;

use super::DemoContext;
use super::same_page::refuse_other_pages;
use crate::http::problem::Problem;
use crate::http::{body, query};
use domain::counters::{Counter, Counters};
use model::counters::{CounterKey, Definition, KeyField};
use model::ids::Content;

const CONTENTS_MAX: usize = 100;
/// The key of a counter by content.
const KEY: [KeyField; 2] = [KeyField::Kind, KeyField::Oid];

/// Numbers of users, in the order asked. A counter that is not in the settings is left out.
#[derive(Serialize)]
struct Shown {
    #[serde(skip_serializing_if = "Option::is_none")]
    viewers: Option<Vec<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finishers: Option<Vec<i64>>,
}

/// `GET /demo/counters?content=1:100&content=1:101`: `{"viewers":[3,0],"finishers":[1,0]}`, at most 100 contents.
///
/// 404 where neither is counted by content; 503 while they are being counted.
pub async fn get(State(context): State<DemoContext>, headers: HeaderMap, uri: Uri) -> Result<Response, Problem> {
    refuse_other_pages(&headers)?;
    let contents = query::contents(&uri, CONTENTS_MAX, context.live.content_ids())?;
    let none =
        || Problem::not_found("neither viewers nor finishers are counted: counters.derived has none by kind and oid");
    let counters = context.counters.as_deref().ok_or_else(none)?;
    let viewers = values(counters, Definition::VIEWERS, &contents).await?;
    let finishers = values(counters, Definition::FINISHERS, &contents).await?;
    if viewers.is_none() && finishers.is_none() {
        return Err(none());
    }
    Ok(body::answered(serde_json::to_string(&Shown { viewers, finishers }).expect("numbers")))
}

/// `None`: it is no derived counter by content.
async fn values(counters: &Counters, id: &str, contents: &[Content]) -> Result<Option<Vec<i64>>, Problem> {
    let counter = id.parse().ok().and_then(|id| counters.of(&id));
    let by_content =
        |counter: &Counter| matches!(counter, Counter::Derived(_)) && counter.parts() == KEY.map(KeyField::word);
    let Some(counter) = counter.filter(by_content) else { return Ok(None) };
    let key = |content: &Content| {
        let parts = [content.kind.to_string(), content.oid.to_string()];
        CounterKey::of(parts.iter().map(String::as_str)).expect("two numbers are a key")
    };
    Ok(Some(counters.values(&counter, contents.iter().map(key).collect()).await?))
}
