//! `heartline events`: prints what the admin listener's `/v1/events` tells.
//!
//! A line is written with one call and is shorter than what a pipe takes at once, so whoever reads gets whole lines,
//! however this ends.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU64;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::model::event_page::EventRequest;

/// What a gateway that is there needs for an answer, beside the wait.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
const BODY_BYTES_MAX: usize = 16 << 20;
const RETRY_MIN: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(2);

/// Which events are printed.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Those behind this offset.
    pub after: u64,
    /// No more than so many.
    pub limit: Option<NonZeroU64>,
    /// Also those that come, until a signal.
    pub follow: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    #[error("{0} (admin.listen) gives no events: {1}; is the gateway running?")]
    Away(SocketAddr, String),
    #[error("{0} (admin.listen) has no log of events: {1}")]
    Elsewhere(SocketAddr, String),
    #[error("what is at {0} (admin.listen) does not speak of events: {1}")]
    Strange(SocketAddr, String),
    #[error("admin.listen = \"{0}\" leaves the port open: set it to that of the gateway")]
    NoPort(SocketAddr),
    #[error("the process cannot be set up: {0}")]
    Process(io::Error),
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    events: Vec<Line<'a>>,
}

#[derive(Deserialize, Serialize)]
struct Line<'a> {
    offset: u64,
    #[serde(borrow)]
    event: &'a RawValue,
}

/// Prints them to standard output. A reader that goes away, and a signal, are a good end. With `follow` a gateway that is
/// away is waited for; the first time that is said on standard error.
pub fn print(listen: SocketAddr, wanted: Wanted) -> Result<(), EventsError> {
    let gateway = reachable(listen)?;
    end_at_signals().map_err(EventsError::Process)?;
    match runtime().map_err(EventsError::Process)?.block_on(tail(gateway, wanted, &mut io::stdout())) {
        Err(EventsError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

async fn tail(gateway: SocketAddr, wanted: Wanted, out: &mut impl Write) -> Result<(), EventsError> {
    let Wanted { mut after, limit, follow } = wanted;
    let mut left = limit.map_or(u64::MAX, NonZeroU64::get);
    let mut pause = RETRY_MIN;
    while left > 0 {
        let asked = ask(gateway, after, left, follow).await;
        let body = match asked {
            Err(EventsError::Away(_, why)) if follow => {
                if pause == RETRY_MIN {
                    eprintln!("heartline: {gateway} gives no events: {why}; waiting");
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(RETRY_MAX);
                continue;
            }
            asked => asked?,
        };
        pause = RETRY_MIN;
        let page: Page =
            serde_json::from_slice(&body).map_err(|error| EventsError::Strange(gateway, error.to_string()))?;
        if page.events.is_empty() {
            if !follow {
                return Ok(());
            }
            // A gateway that drains does not hold the question.
            tokio::time::sleep(RETRY_MIN).await;
        }
        for line in page.events.into_iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
            if line.offset <= after {
                return Err(EventsError::Strange(gateway, format!("offset {} after {after}", line.offset)));
            }
            let mut text = serde_json::to_vec(&line).map_err(|error| EventsError::Output(error.into()))?;
            text.push(b'\n');
            out.write_all(&text).map_err(EventsError::Output)?;
            (after, left) = (line.offset, left - 1);
        }
        out.flush().map_err(EventsError::Output)?;
    }
    Ok(())
}

/// The body of the next page.
async fn ask(gateway: SocketAddr, after: u64, left: u64, wait: bool) -> Result<Bytes, EventsError> {
    let limit = left.min(EventRequest::LIMIT_MAX as u64);
    let wait = if wait { EventRequest::WAIT_MAX } else { Duration::ZERO };
    let path = format!("/v1/events?after={after}&limit={limit}&wait={}", wait.as_millis());
    let away = |why: &dyn ToString| EventsError::Away(gateway, why.to_string());
    let answered = tokio::time::timeout(wait + ANSWER_TIMEOUT, get(gateway, &path)).await;
    let (status, body) = answered.map_err(|late| away(&late))?.map_err(|error| away(&error))?;
    match status {
        StatusCode::OK => Ok(body),
        StatusCode::SERVICE_UNAVAILABLE => Err(away(&detail(&body).unwrap_or_else(|| status.to_string()))),
        StatusCode::NOT_FOUND if detail(&body).is_some() => {
            Err(EventsError::Elsewhere(gateway, detail(&body).unwrap_or_default()))
        }
        _ => {
            let why = detail(&body).map_or_else(|| status.to_string(), |detail| format!("{status}, {detail}"));
            Err(EventsError::Strange(gateway, why))
        }
    }
}

async fn get(gateway: SocketAddr, path: &str) -> Result<(StatusCode, Bytes), Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(gateway).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Whoever waits for the answer learns of its failure.
    tokio::spawn(connection);
    let request = Request::get(path).header(header::HOST, gateway.to_string()).body(Empty::<Bytes>::new())?;
    let (head, body) = sender.send_request(request).await?.into_parts();
    Ok((head.status, Limited::new(body, BODY_BYTES_MAX).collect().await?.to_bytes()))
}

/// What a problem document says.
fn detail(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Problem {
        detail: String,
    }
    serde_json::from_slice(body).ok().map(|problem: Problem| problem.detail)
}

/// Where a gateway that listens there is found from this machine.
fn reachable(listen: SocketAddr) -> Result<SocketAddr, EventsError> {
    let address = match listen.ip() {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    };
    if listen.port() == 0 { Err(EventsError::NoPort(listen)) } else { Ok(SocketAddr::new(address, listen.port())) }
}

/// On a thread of its own, since printing waits for whoever reads.
fn end_at_signals() -> io::Result<()> {
    let runtime = runtime()?;
    let mut signals = {
        let _context = runtime.enter();
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        kinds.into_iter().map(signal).collect::<io::Result<Vec<_>>>()?
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let any = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
        runtime.block_on(futures_util::future::select_all(any));
        std::process::exit(0);
    })?;
    Ok(())
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

impl EventsError {
    /// Of sysexits.h.
    pub fn exit_code(&self) -> u8 {
        match self {
            EventsError::Away(..) => 69,
            EventsError::Strange(..) => 76,
            EventsError::NoPort(_) | EventsError::Elsewhere(..) => 78,
            EventsError::Process(_) => 71,
            EventsError::Output(_) => 74,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_that_listens_everywhere_is_asked_on_loopback() {
        for (listen, asked) in
            [("0.0.0.0:7701", "127.0.0.1:7701"), ("[::]:7701", "[::1]:7701"), ("10.0.0.1:9", "10.0.0.1:9")]
        {
            let listen = listen.parse().expect("an address");
            assert_eq!(reachable(listen).expect("reachable").to_string(), asked);
        }
        assert!(reachable("127.0.0.1:0".parse().expect("an address")).is_err());
    }
}
