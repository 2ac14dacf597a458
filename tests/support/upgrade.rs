//! An upgrade request, with anything in it that the protocol has a rule for.

use std::net::SocketAddr;

use http::{HeaderMap, HeaderName, HeaderValue, Request};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::{TestClient, in_time};

pub const JSON_PROTOCOL: &str = "heartline.v1.json";

pub struct Upgrade {
    address: SocketAddr,
    path: String,
    headers: HeaderMap,
}

/// The answer of a gateway that did not upgrade.
#[derive(Debug)]
pub struct Refusal {
    pub status: u16,
    pub headers: HeaderMap,
}

impl Upgrade {
    pub fn to(address: SocketAddr) -> Self {
        Self { address, path: "/v1/connect".to_owned(), headers: HeaderMap::new() }
    }

    pub fn path(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        let value = HeaderValue::from_str(value).expect("a header value");
        self.headers.insert(HeaderName::from_static(name), value);
        self
    }

    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub fn origin(self, origin: &str) -> Self {
        self.header("origin", origin)
    }

    pub fn protocols(self, offered: &[&str]) -> Self {
        self.header("sec-websocket-protocol", &offered.join(", "))
    }

    /// The token as a second offered subprotocol, as browsers must send it.
    pub fn token_as_protocol(self, token: &str) -> Self {
        self.protocols(&[JSON_PROTOCOL, &format!("heartline.token.{token}")])
    }

    /// Upgraded, and the welcome not read yet.
    pub async fn open(self) -> TestClient {
        match self.attempt().await {
            Ok((socket, protocol)) => TestClient::over(socket, protocol),
            Err(refusal) => panic!("the upgrade was refused: {refusal:?}"),
        }
    }

    pub async fn welcomed(self) -> TestClient {
        let mut client = self.open().await;
        client.wait_for_welcome().await;
        client
    }

    pub async fn refused(self) -> Refusal {
        match self.attempt().await {
            Ok(_) => panic!("the upgrade was not refused"),
            Err(refusal) => refusal,
        }
    }

    /// The socket and the subprotocol that was selected.
    pub async fn attempt(self) -> Result<(WebSocketStream<TcpStream>, Option<String>), Refusal> {
        let stream = TcpStream::connect(self.address).await.expect("the gateway listens");
        stream.set_nodelay(true).expect("nodelay");
        self.over(stream).await
    }

    /// Over a connection that is there already.
    pub async fn over<S>(self, stream: S) -> Result<(WebSocketStream<S>, Option<String>), Refusal>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let url = format!("ws://{}{}", self.address, self.path);
        let mut request: Request<()> = url.into_client_request().expect("a request");
        request.headers_mut().extend(self.headers);
        match in_time("an answer to the upgrade", client_async(request, stream)).await {
            Ok((socket, answer)) => {
                let selected = answer.headers().get("sec-websocket-protocol");
                let selected = selected.map(|value| value.to_str().expect("ascii").to_owned());
                Ok((socket, selected))
            }
            Err(Error::Http(answer)) => {
                Err(Refusal { status: answer.status().as_u16(), headers: answer.headers().clone() })
            }
            Err(other) => panic!("the upgrade ended in {other}"),
        }
    }
}
