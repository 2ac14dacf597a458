//! Connects and upgrades to a welcomed socket.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::answer::{self, Welcome};
use super::target::Target;
use super::wire::{self, Opcode};

/// The most bytes before the end of the welcome.
const OPENING_BYTES_MAX: usize = 64 * 1024;
/// Sockets behind one source address, as many as may share one office or carrier.
const SOCKETS_PER_SOURCE: u64 = 100;
/// The first port. A further attempt takes the port [`NEXT_PORT`] above.
const FIRST_PORT: u64 = 20_000;
const NEXT_PORT: u64 = 20_000;

pub struct Dialed {
    pub stream: TcpStream,
    /// Bytes that were read beyond the welcome.
    pub rest: Vec<u8>,
    pub welcome: Welcome,
}

/// The reason why there is no socket; displayed as a kind to count by.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    #[error("connect: {0}")]
    Connect(io::ErrorKind),
    #[error("lost before the welcome: {0}")]
    Lost(io::ErrorKind),
    #[error("http {0}")]
    Status(u16),
    #[error("close {0} before the welcome")]
    Closed(u16),
    #[error("not the protocol")]
    Foreign,
    #[error("no welcome in time")]
    Timeout,
}

/// A loopback address for every 100 sockets, in another block of addresses for every run, since the ports of the last
/// run are in TIME_WAIT. Ports are chosen here, so that the kernel need not search for free ones.
pub fn source(target: SocketAddr, run: u64, socket: u64, attempt: u32) -> Option<SocketAddr> {
    if !target.ip().is_loopback() || target.is_ipv6() {
        return None;
    }
    let block = run.wrapping_mul(2003).wrapping_add(socket / SOCKETS_PER_SOURCE) % 0xfe00;
    let [high, low] = (block as u16).to_be_bytes();
    let port = FIRST_PORT + u64::from(attempt % 2) * NEXT_PORT + socket % SOCKETS_PER_SOURCE;
    Some(SocketAddr::from((Ipv4Addr::new(127, high + 1, low, 1), port as u16)))
}

/// Connects, upgrades and waits for the welcome.
pub async fn dial(target: &Target, source: Option<SocketAddr>, token: &str) -> Result<Dialed, DialError> {
    let stream = connect(socket(target.address, source)?, target.address).await?;
    enter(target, stream, token).await
}

/// Upgrades a connection, and waits for the welcome.
pub async fn enter(target: &Target, mut stream: TcpStream, token: &str) -> Result<Dialed, DialError> {
    let mut rest = upgrade(target, &mut stream, Some(token)).await?;
    let welcome = if target.echo {
        Welcome { now: super::target::wall_ms(), flag: None }
    } else {
        welcome(&mut stream, &mut rest).await?
    };
    rest.shrink_to_fit();
    Ok(Dialed { stream, rest, welcome })
}

/// Returns the bytes that were read beyond the answer.
pub async fn upgrade(target: &Target, stream: &mut TcpStream, token: Option<&str>) -> Result<Vec<u8>, DialError> {
    let key = generate_key();
    let authorization = token.map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: heartline.v1.json\r\n{authorization}\r\n",
        target.path, target.host
    );
    stream.write_all(request.as_bytes()).await.map_err(|error| DialError::Lost(error.kind()))?;
    let mut read = Vec::new();
    let head = loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        more(stream, &mut read).await?;
    };
    check(&read[..head], &derive_accept_key(key.as_bytes()))?;
    Ok(read.split_off(head))
}

/// A socket that can connect to `target`.
pub fn socket(target: SocketAddr, source: Option<SocketAddr>) -> Result<TcpSocket, DialError> {
    let made = || {
        let socket = if target.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        if let Some(source) = source {
            socket.set_reuseaddr(true)?;
            socket.bind(source)?;
        }
        socket.set_nodelay(true)?;
        Ok(socket)
    };
    made().map_err(|error: io::Error| DialError::Connect(error.kind()))
}

pub async fn connect(socket: TcpSocket, target: SocketAddr) -> Result<TcpStream, DialError> {
    socket.connect(target).await.map_err(|error| DialError::Connect(error.kind()))
}

async fn more(stream: &mut TcpStream, read: &mut Vec<u8>) -> Result<(), DialError> {
    match stream.read_buf(read).await {
        Ok(0) => Err(DialError::Lost(io::ErrorKind::UnexpectedEof)),
        Ok(_) if read.len() > OPENING_BYTES_MAX => Err(DialError::Foreign),
        Ok(_) => Ok(()),
        Err(error) => Err(DialError::Lost(error.kind())),
    }
}

fn check(head: &[u8], accept_key: &str) -> Result<(), DialError> {
    let head = std::str::from_utf8(head).map_err(|_| DialError::Foreign)?;
    let (status, headers) = head.split_once("\r\n").ok_or(DialError::Foreign)?;
    let status: u16 = status.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or(DialError::Foreign)?;
    if status != 101 {
        return Err(DialError::Status(status));
    }
    let mut headers = headers.lines().filter_map(|line| line.split_once(':'));
    let accepted = headers.any(|(name, value)| {
        name.eq_ignore_ascii_case("sec-websocket-accept") && value.trim().eq_ignore_ascii_case(accept_key)
    });
    if accepted { Ok(()) } else { Err(DialError::Foreign) }
}

/// Leaves the bytes after the welcome in `read`.
async fn welcome(stream: &mut TcpStream, read: &mut Vec<u8>) -> Result<Welcome, DialError> {
    loop {
        while let Some(frame) = wire::parse(read).map_err(|_| DialError::Foreign)? {
            let payload = &read[frame.payload];
            match frame.opcode {
                Opcode::Text => {
                    let welcome = answer::read(payload).and_then(|said| said.welcome).ok_or(DialError::Foreign)?;
                    read.drain(..frame.end);
                    return Ok(welcome);
                }
                Opcode::Close => return Err(DialError::Closed(wire::close_code(payload))),
                Opcode::Ping | Opcode::Pong => drop(read.drain(..frame.end)),
            }
        }
        more(stream, read).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_sockets_of_a_run_share_a_source() {
        let target = SocketAddr::from(([127, 0, 0, 1], 7700));
        for run in [0, 1_795_150_000] {
            let mut seen = std::collections::HashSet::new();
            for socket in 0..100_000 {
                for attempt in 0..2 {
                    let source = source(target, run, socket, attempt).expect("a source");
                    assert!(source.ip().is_loopback() && source.ip() != target.ip());
                    assert!(seen.insert(source), "{source}");
                }
            }
        }
        assert_eq!(source(SocketAddr::from(([192, 0, 2, 1], 80)), 1, 1, 0), None);
    }

    #[test]
    fn only_the_right_answer_switches() {
        let head = b"HTTP/1.1 101 Switching Protocols\r\nsec-websocket-accept: abc=\r\n\r\n";
        assert!(check(head, "abc=").is_ok());
        assert!(matches!(check(head, "other"), Err(DialError::Foreign)));
        let refused = check(b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\n\r\n", "abc=");
        assert!(matches!(refused, Err(DialError::Status(503))));
    }
}
