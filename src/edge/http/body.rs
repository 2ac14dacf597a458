//! Bodies of JSON, in both directions.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::arriving_body::CutOff;
use super::problem::Problem;

/// How long a body may take to arrive.
const ARRIVAL_MAX: Duration = Duration::from_secs(10);
/// How long the rest of a refused body is thrown away, so that the answer is not lost to a TCP reset.
const DISCARD_MAX: Duration = Duration::from_secs(1);

/// In the extensions of an answer: it goes on for as long as its client reads it. On the public listener the time limit
/// of an answer then begins again with each piece of it.
#[derive(Clone, Copy, Debug)]
pub struct Streamed;

/// The whole body of a request, which must say that it is JSON, or nothing of its type. Whether it is JSON is for the codec
/// to judge.
pub async fn received(request: Request, bytes_max: usize) -> Result<Bytes, Problem> {
    if !is_json(request.headers()) {
        return Err(Problem::media_type());
    }
    let (head, body) = request.into_parts();
    if body.size_hint().lower() > bytes_max as u64 {
        refuse(&head.headers, body).await;
        return Err(Problem::too_large(bytes_max));
    }
    whole(body, bytes_max).await
}

/// The same, or nothing of a request without a body.
pub async fn received_or_none(request: Request, bytes_max: usize) -> Result<Bytes, Problem> {
    match request.body().is_end_stream() {
        true => Ok(Bytes::new()),
        false => received(request, bytes_max).await,
    }
}

/// Refuses a body where none is read: it would be ignored silently.
pub async fn refuse_unread(request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH);
    if reads || request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    refuse(&head.headers, body).await;
    Problem::invalid(format!("body: a {} takes none here", head.method)).into_response()
}

/// The whole body, of any content type.
pub async fn whole(mut body: Body, bytes_max: usize) -> Result<Bytes, Problem> {
    let arrival = Limited::new(&mut body, bytes_max).collect();
    match tokio::time::timeout(ARRIVAL_MAX, arrival).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            discard(body).await;
            Err(Problem::too_large(bytes_max))
        }
        Ok(Err(error)) if CutOff::caused(&*error) => Err(Problem::going_away()),
        Ok(Err(_)) => Err(Problem::invalid("body: ended too early")),
        Err(_) => Err(Problem::invalid(format!("body: did not arrive within {} s", ARRIVAL_MAX.as_secs()))),
    }
}

/// An answer of JSON.
pub fn answered(text: String) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}

/// Without a type it may be. A form or plain text, which any web page can send, says so.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(media_type) = headers.get(header::CONTENT_TYPE) else { return true };
    let media_type = media_type.to_str().unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// Refuses a body. A client that waits for `100 Continue` is answered at once; reading the body would ask for it.
async fn refuse(headers: &HeaderMap, body: Body) {
    let waits =
        headers.get(header::EXPECT).is_some_and(|expected| expected.as_bytes().eq_ignore_ascii_case(b"100-continue"));
    if !waits {
        discard(body).await;
    }
}

async fn discard(mut body: Body) {
    let rest = async { while let Some(Ok(_)) = body.frame().await {} };
    // A client that is still sending then loses the answer.
    let _ = tokio::time::timeout(DISCARD_MAX, rest).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(media_type: Option<&'static str>, body: Body) -> Request {
        let mut request = Request::new(body);
        if let Some(media_type) = media_type {
            request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        }
        request
    }

    async fn status(media_type: Option<&'static str>, body: Body) -> u16 {
        match received(request(media_type, body), 4).await {
            Ok(_) => 200,
            Err(problem) => problem.into_response().status().as_u16(),
        }
    }

    #[tokio::test]
    async fn only_a_body_of_type_json_or_of_none_is_accepted() {
        for good in ["application/json", "Application/JSON; charset=utf-8"] {
            assert_eq!(status(Some(good), Body::from("{}")).await, 200, "{good}");
        }
        for bad in ["text/plain", "application/jsonp", "application/x-www-form-urlencoded", ""] {
            assert_eq!(status(Some(bad), Body::from("{}")).await, 415, "{bad}");
        }
        assert_eq!(status(None, Body::from("{}")).await, 200);
    }

    #[tokio::test]
    async fn a_body_over_the_size_is_refused() {
        assert_eq!(status(Some("application/json"), Body::from("1234")).await, 200);
        assert_eq!(status(Some("application/json"), Body::from("12345")).await, 413);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_arrive_in_time_is_refused() {
        let endless = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        assert_eq!(status(Some("application/json"), endless).await, 400);
    }
}
