//! One request, one answer, over a connection of its own.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use super::in_time;

#[derive(Clone)]
pub struct Http {
    address: SocketAddr,
    /// Another host than the address.
    host: Option<String>,
    headers: Vec<(String, String)>,
}

pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    body: Bytes,
}

impl Http {
    pub fn to(address: SocketAddr) -> Self {
        Self { address, host: None, headers: Vec::new() }
    }

    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn host(mut self, host: &str) -> Self {
        self.host = Some(host.to_owned());
        self
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(("application/json", body.to_string()))).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, Some(("application/json", body.to_string()))).await
    }

    /// `body`: its media type and its text.
    pub async fn send(&self, method: &str, path: &str, body: Option<(&str, String)>) -> Answer {
        let (media_type, text) = body.map_or((None, String::new()), |(media_type, text)| (Some(media_type), text));
        in_time(&format!("an answer to {method} {path}"), self.exchange(method, path, media_type, text)).await
    }

    /// The same with a body of this media type, or of none.
    pub async fn send_as(&self, method: &str, path: &str, media_type: Option<&str>, body: String) -> Answer {
        match media_type {
            Some(media_type) => self.send(method, path, Some((media_type, body))).await,
            None => in_time("an answer", self.exchange(method, path, None, body)).await,
        }
    }

    async fn exchange(&self, method: &str, path: &str, media_type: Option<&str>, body: String) -> Answer {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let host = self.host.clone().unwrap_or_else(|| self.address.to_string());
        let mut request = Request::builder().method(method).uri(path).header("host", host);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(media_type) = media_type {
            request = request.header("content-type", media_type);
        }
        let request = request.body(Full::new(Bytes::from(body))).expect("a request");

        let stream = TcpStream::connect(self.address).await.expect("a listener");
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("http");
        let connection = tokio::spawn(connection);
        let answer = sender.send_request(request).await.expect("an answer");
        let (head, body) = answer.into_parts();
        let body = body.collect().await.expect("a whole body").to_bytes();
        connection.abort();
        Answer { status: head.status.as_u16(), headers: head.headers, body }
    }
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("ASCII"))
    }

    /// The JSON body of a success.
    pub fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        serde_json::from_str(self.text()).expect("JSON")
    }

    /// The RFC 9457 problem document of a failure, its status and last word of its type checked.
    pub fn problem(&self, status: u16, word: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let problem: Value = serde_json::from_str(self.text()).expect("JSON");
        assert_eq!(problem["status"], status, "{problem}");
        let kind = problem["type"].as_str().expect("a type URI");
        assert_eq!(kind.rsplit(['/', ':', '#']).next(), Some(word), "{problem}");
        assert!(problem["title"].is_string(), "{problem}");
        problem
    }
}
