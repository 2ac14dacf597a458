//! Requests over HTTP that services answer in place of gateways.

use super::{Malformed, wire};
use model::ids::UserId;

/// Whose request it is. The gateway has checked that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    User(UserId),
    /// Somebody without a token.
    Anybody,
    /// Somebody who may use the control listener.
    Operator,
}

/// A request over HTTP, as it came.
#[derive(Clone, Debug)]
pub struct Forwarded {
    pub by: By,
    pub method: String,
    /// Path and query.
    pub uri: String,
    /// Those that bear on the answer.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// It may be asked again when its outcome is unknown.
    pub may_repeat: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardedAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

pub fn encode(request: Forwarded) -> wire::ForwardRequest {
    let Forwarded { by, method, uri, headers, body, may_repeat: _ } = request;
    let mid = match by {
        By::User(user) => Some(user.0),
        By::Anybody | By::Operator => None,
    };
    wire::ForwardRequest { mid, control: by == By::Operator, method, uri, headers: encode_headers(headers), body }
}

pub fn decode(sent: wire::ForwardRequest) -> Result<Forwarded, Malformed> {
    let wire::ForwardRequest { mid, control, method, uri, headers, body } = sent;
    let by = match (mid, control) {
        (None, true) => By::Operator,
        (None, false) => By::Anybody,
        (Some(mid), false) => By::User(UserId(mid)),
        (Some(_), true) => return Err(Malformed("an operator with a user".to_owned())),
    };
    Ok(Forwarded { by, method, uri, headers: decode_headers(headers), body, may_repeat: false })
}

pub fn encode_answer(answer: ForwardedAnswer) -> wire::ForwardResponse {
    let ForwardedAnswer { status, headers, body } = answer;
    wire::ForwardResponse { status: status.into(), headers: encode_headers(headers), body }
}

pub fn decode_answer(sent: wire::ForwardResponse) -> ForwardedAnswer {
    let wire::ForwardResponse { status, headers, body } = sent;
    // A status that does not fit becomes 0, which the edge refuses.
    ForwardedAnswer { status: u16::try_from(status).unwrap_or_default(), headers: decode_headers(headers), body }
}

fn encode_headers(headers: Vec<(String, String)>) -> Vec<wire::Header> {
    headers.into_iter().map(|(name, value)| wire::Header { name, value }).collect()
}

fn decode_headers(headers: Vec<wire::Header>) -> Vec<(String, String)> {
    headers.into_iter().map(|wire::Header { name, value }| (name, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_whose_it_is() {
        for by in [By::User(UserId(0)), By::User(UserId(u64::MAX)), By::Anybody, By::Operator] {
            let headers = vec![("accept".to_owned(), "text/csv".to_owned())];
            let (method, uri) = ("POST".to_owned(), "/v1/views/1/100".to_owned());
            let request = Forwarded { by, method, uri, headers, body: b"{}".to_vec(), may_repeat: true };
            let read = decode(encode(request.clone())).expect("a request");
            assert_eq!((read.by, &read.method, &read.uri), (by, &request.method, &request.uri));
            assert_eq!((&read.headers, &read.body), (&request.headers, &request.body));
        }
        let both = wire::ForwardRequest { mid: Some(1), control: true, ..wire::ForwardRequest::default() };
        assert!(decode(both).is_err());
    }
}
