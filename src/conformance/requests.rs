//! The operations over HTTP.

use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};

use super::answer::{Answer, problem, respond};
use super::frame;
use super::gateway::Gateway;
use super::log::What;
use super::number::day;

/// Answers one, and writes it down. `bytes`: the length of its body.
pub fn answer(gateway: &Gateway, parts: &Parts, body: &Value, bytes: usize) -> Answer {
    let (method, path) = (&parts.method, parts.uri.path());
    let line = parts.uri.path_and_query().map_or(path, http::uri::PathAndQuery::as_str);
    gateway.see(0, What::Request(format!("{method} {line}"), body.clone(), bytes));
    let content = || path.strip_prefix("/v1/history/").and_then(|rest| rest.split_once('/'));
    match (method, path) {
        (&Method::POST, "/v1/beats") => post(gateway, body),
        (&Method::POST, "/v1/history/get") if gateway.holds_reads() => unavailable(),
        (&Method::POST, "/v1/history/get") => {
            respond(StatusCode::OK, &json!({"records": gateway.read(&body["items"])}))
        }
        (&Method::GET, "/v1/history") => respond(StatusCode::OK, &json!({"records": gateway.list()})),
        (&Method::GET, "/v1/recording") => respond(StatusCode::OK, &json!({"paused": false})),
        (&Method::GET, "/v1/origin") => respond(StatusCode::OK, &json!({"origin": null, "allowed": true})),
        (&Method::GET, "/v1/rewards/today") => {
            respond(StatusCode::OK, &json!({"day": day(gateway.now()), "rewards": []}))
        }
        (&Method::GET, _) if content().is_some() => match read(gateway, content()) {
            Some(record) => respond(StatusCode::OK, &record),
            None => problem(StatusCode::NOT_FOUND, "not_found", "nothing is stored"),
        },
        (&Method::DELETE, "/v1/history") => {
            gateway.clear();
            respond(StatusCode::NO_CONTENT, &Value::Null)
        }
        (&Method::DELETE, _) => {
            gateway.delete(&items(content()));
            respond(StatusCode::NO_CONTENT, &Value::Null)
        }
        _ => problem(StatusCode::NOT_FOUND, "not_found", path),
    }
}

fn post(gateway: &Gateway, body: &Value) -> Answer {
    if let Err(wrong) = frame::check_post(body) {
        gateway.malformed(0, format!("POST /v1/beats: {wrong}: {body}"));
        return problem(StatusCode::BAD_REQUEST, "invalid", &wrong);
    }
    if gateway.post(&body["items"]) {
        return unavailable();
    }
    let now = gateway.now();
    let mut answer = json!({"now": now, "today": day(now), "rejected": [], "rewards": []});
    if let Some(flag) = gateway.flag() {
        answer["flag"] = json!(flag);
    }
    respond(StatusCode::OK, &answer)
}

fn items(content: Option<(&str, &str)>) -> Value {
    let item = |(kind, oid): (&str, &str)| json!({"kind": kind.parse::<u16>().ok(), "oid": oid});
    content.map_or_else(|| json!([]), |content| json!([item(content)]))
}

fn read(gateway: &Gateway, content: Option<(&str, &str)>) -> Option<Value> {
    gateway.read(&items(content)).pop().filter(|record| !record.is_null())
}

fn unavailable() -> Answer {
    let mut answer = problem(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "the store is away");
    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}
