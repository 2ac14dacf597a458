//! Requests of the commands to a running gateway, over HTTP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

use crate::config::Config;
use edge::auth::CONTROL_TOKEN;
use model::secret::Secret;

const BODY_BYTES_MAX: usize = 16 << 20;

/// One listener of a gateway that has the settings of this command.
pub struct Gateway {
    address: SocketAddr,
    /// Where the address comes from, for messages.
    setting: &'static str,
    token: Option<Secret>,
    /// How to give the command a token, for messages.
    token_hint: String,
}

/// No answer, or an answer that the command cannot use.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error("{0} does not answer: {1}; is the gateway running?")]
    Away(String, String),
    /// The gateway runs, and something behind it does not.
    #[error("{0} cannot answer now: {1}")]
    Unavailable(String, String),
    #[error("{0} refuses the control token; {1}")]
    Refused(String, String),
    #[error("{0} says: {1}")]
    Elsewhere(String, String),
    #[error("{0} refuses this: {1}")]
    Invalid(String, String),
    #[error("{0} cannot be read: {1}")]
    SecretFile(String, io::Error),
    #[error("{0} answers something else: {1}")]
    Strange(String, String),
    #[error(
        "--after {0} is beyond the end of the event log, whose newest offset is {1}; leave it out to read from the start"
    )]
    BeyondEnd(u64, u64),
    #[error("{0} = \"{1}\" leaves the port open: set it to the one that the gateway listens on")]
    NoPort(&'static str, SocketAddr),
    #[error("the process cannot be set up: {0}")]
    Process(io::Error),
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
}

impl Gateway {
    /// The gateway's control listener, with the token that is configured or kept in the data directory.
    pub fn control(config: &Config) -> Result<Self, GatewayError> {
        let kept = || CONTROL_TOKEN.find(&config.store.data_dir);
        let (token, token_hint) = match config.control.token.is_empty() {
            false => (Some(config.control.token.clone()), "control.token is not that of the gateway".to_owned()),
            true => {
                let path = CONTROL_TOKEN.path(&config.store.data_dir);
                match kept() {
                    Ok(token) => (Some(token), format!("the one in {} is not that of the gateway", path.display())),
                    Err(error) => (
                        None,
                        format!("set control.token, or store.data_dir: {} cannot be read: {error}", path.display()),
                    ),
                }
            }
        };
        let setting = "control.listen";
        Ok(Gateway { address: reachable(setting, config.control.listen)?, setting, token, token_hint })
    }

    /// The gateway's probe listener.
    pub fn probes(config: &Config) -> Result<Self, GatewayError> {
        let setting = "admin.listen";
        Ok(Gateway {
            address: reachable(setting, config.admin.listen)?,
            setting,
            token: None,
            token_hint: String::new(),
        })
    }

    /// The body of a successful answer.
    pub async fn get(&self, path: &str, within: Duration) -> Result<Bytes, GatewayError> {
        self.body_of(self.probe(path, within).await?)
    }

    /// The body of a successful answer to a POST without a body.
    pub async fn post(&self, path: &str, within: Duration) -> Result<Bytes, GatewayError> {
        self.body_of(self.answer(Method::POST, path, None, within).await?)
    }

    /// The body of a successful answer; empty if it has none. `body`: JSON.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        within: Duration,
    ) -> Result<Bytes, GatewayError> {
        self.body_of(self.answer(method, path, body, within).await?)
    }

    fn body_of(&self, (status, body): (StatusCode, Bytes)) -> Result<Bytes, GatewayError> {
        let problem = detail(&body);
        let detail = || problem.clone().unwrap_or_else(|| status.to_string());
        match status {
            _ if status.is_success() => Ok(body),
            StatusCode::BAD_REQUEST if problem.is_some() => Err(GatewayError::Invalid(self.name(), detail())),
            StatusCode::SERVICE_UNAVAILABLE => Err(GatewayError::Unavailable(self.name(), detail())),
            StatusCode::UNAUTHORIZED => Err(GatewayError::Refused(self.name(), self.token_hint.clone())),
            StatusCode::NOT_FOUND | StatusCode::CONFLICT if problem.is_some() => {
                Err(GatewayError::Elsewhere(self.name(), detail()))
            }
            _ => Err(self.strange(&format!("{status}, {}", detail()))),
        }
    }

    /// The status and body of any answer.
    pub async fn probe(&self, path: &str, within: Duration) -> Result<(StatusCode, Bytes), GatewayError> {
        self.answer(Method::GET, path, None, within).await
    }

    async fn answer(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        within: Duration,
    ) -> Result<(StatusCode, Bytes), GatewayError> {
        let answered = tokio::time::timeout(within, self.ask(method, path, body)).await;
        let answered = answered.map_err(|_| self.away(&format!("no answer within {} s", within.as_secs())))?;
        answered.map_err(|error| self.away(&error))
    }

    /// The error for an answer that makes no sense.
    pub fn strange(&self, why: &dyn ToString) -> GatewayError {
        GatewayError::Strange(self.name(), why.to_string())
    }

    fn away(&self, why: &dyn ToString) -> GatewayError {
        GatewayError::Away(self.name(), why.to_string())
    }

    fn name(&self) -> String {
        format!("{} ({})", self.address, self.setting)
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> Result<(StatusCode, Bytes), Box<dyn std::error::Error + Send + Sync>> {
        let stream = TcpStream::connect(self.address).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // A failure of the connection shows in the answer.
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, self.address.to_string());
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let mut request = request.body(Full::new(Bytes::from(body.unwrap_or_default())))?;
        if let Some(token) = &self.token {
            let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose()))?;
            value.set_sensitive(true);
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        let (head, body) = sender.send_request(request).await?.into_parts();
        Ok((head.status, Limited::new(body, BODY_BYTES_MAX).collect().await?.to_bytes()))
    }
}

/// A runtime for one command.
pub fn runtime() -> Result<Runtime, GatewayError> {
    Builder::new_current_thread().enable_all().build().map_err(GatewayError::Process)
}

/// The message of a problem document.
fn detail(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Problem {
        detail: String,
    }
    serde_json::from_slice(body).ok().map(|problem: Problem| problem.detail)
}

/// The address on this machine of a gateway that listens there.
pub(super) fn reachable(setting: &'static str, listen: SocketAddr) -> Result<SocketAddr, GatewayError> {
    let address = match listen.ip() {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    };
    match listen.port() {
        0 => Err(GatewayError::NoPort(setting, listen)),
        port => Ok(SocketAddr::new(address, port)),
    }
}

impl GatewayError {
    /// Codes of `sysexits.h`.
    pub fn exit_code(&self) -> u8 {
        match self {
            GatewayError::Away(..) | GatewayError::Unavailable(..) => 69,
            GatewayError::Strange(..) => 76,
            GatewayError::Refused(..) => 77,
            GatewayError::NoPort(..) | GatewayError::Elsewhere(..) => 78,
            GatewayError::Process(_) => 71,
            GatewayError::BeyondEnd(..) | GatewayError::Invalid(..) => 65,
            GatewayError::SecretFile(..) => 66,
            GatewayError::Output(_) => 74,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_that_listens_everywhere_is_asked_on_loopback() {
        for (listen, asked) in
            [("0.0.0.0:7702", "127.0.0.1:7702"), ("[::]:7702", "[::1]:7702"), ("10.0.0.1:9", "10.0.0.1:9")]
        {
            let listen = listen.parse().expect("an address");
            assert_eq!(reachable("control.listen", listen).expect("reachable").to_string(), asked);
        }
        assert!(reachable("control.listen", "127.0.0.1:0".parse().expect("an address")).is_err());
    }
}
