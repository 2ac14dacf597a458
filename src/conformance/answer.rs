//! An answer over HTTP.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};

pub type Answer = Response<Full<Bytes>>;

pub fn respond(status: StatusCode, body: &Value) -> Answer {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

pub fn problem(status: StatusCode, word: &str, detail: &str) -> Answer {
    respond(status, &json!({"type": format!("/problems/{word}"), "status": status.as_u16(), "detail": detail}))
}
