//! How a connection of an attacker ended, as it saw it.

use std::fmt;
use std::io::{self, ErrorKind};

use tokio::io::{AsyncRead, AsyncReadExt};

use super::super::dial::DialError;
use super::super::wire::{self, Opcode};

/// What is read and thrown away at a time.
const SCRATCH_BYTES: usize = 16 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this code; 1005 = none.
    Closed(u16),
    /// An answer to the upgrade that is none.
    Status(u16),
    /// The end of the stream, without a word.
    End,
    Reset,
    Lost(ErrorKind),
    /// It could not even be connected.
    Unconnected(ErrorKind),
    /// What came is not the protocol.
    Foreign,
    /// Left by the attacker, welcomed.
    Welcomed,
    /// All it sent was acked, and nothing of it rejected.
    Acked,
    Rejected,
    /// Still there when the attack was over.
    Open,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Closed(code) => write!(f, "close {code}"),
            Ending::Status(status) => write!(f, "http {status}"),
            Ending::End => f.write_str("end"),
            Ending::Reset => f.write_str("reset"),
            Ending::Lost(kind) => write!(f, "lost: {kind}"),
            Ending::Unconnected(kind) => write!(f, "not connected: {kind}"),
            Ending::Foreign => f.write_str("not the protocol"),
            Ending::Welcomed => f.write_str("welcomed"),
            Ending::Acked => f.write_str("acked"),
            Ending::Rejected => f.write_str("rejected"),
            Ending::Open => f.write_str("still open"),
        }
    }
}

impl From<DialError> for Ending {
    fn from(error: DialError) -> Self {
        match error {
            DialError::Connect(kind) => Ending::Unconnected(kind),
            DialError::Lost(kind) => kind.into(),
            DialError::Status(status) => Ending::Status(status),
            DialError::Closed(code) => Ending::Closed(code),
            DialError::Foreign => Ending::Foreign,
            DialError::Timeout => Ending::Open,
        }
    }
}

impl From<ErrorKind> for Ending {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::UnexpectedEof => Ending::End,
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Ending::Reset,
            kind => Ending::Lost(kind),
        }
    }
}

/// Reads to the end and returns how it came; `hear` may end it with a text. `rest` is what was read already.
pub async fn heard(
    stream: &mut (impl AsyncRead + Unpin),
    mut rest: Vec<u8>,
    hear: impl FnMut(&[u8]) -> Option<Ending>,
) -> Ending {
    heard_so_far(stream, &mut rest, hear).await
}

/// Like `heard`, for a caller that reads on: bytes that were read and not used stay in `rest`.
pub async fn heard_so_far(
    stream: &mut (impl AsyncRead + Unpin),
    rest: &mut Vec<u8>,
    mut hear: impl FnMut(&[u8]) -> Option<Ending>,
) -> Ending {
    loop {
        let mut start = 0;
        loop {
            let Ok(frame) = wire::parse(&rest[start..]) else { return Ending::Foreign };
            let Some(frame) = frame else { break };
            let payload = &rest[start..][frame.payload];
            let ended = match frame.opcode {
                Opcode::Close => Some(Ending::Closed(wire::close_code(payload))),
                Opcode::Text => hear(payload),
                Opcode::Ping | Opcode::Pong => None,
            };
            start += frame.end;
            if let Some(ending) = ended {
                rest.drain(..start);
                return ending;
            }
        }
        rest.drain(..start);
        if let Err(ending) = more(stream, rest).await {
            return ending;
        }
    }
}

/// The same before the upgrade: whatever comes is an HTTP response.
pub async fn answered(stream: &mut (impl AsyncRead + Unpin)) -> Ending {
    let mut read = Vec::new();
    loop {
        if let Some(status) = read.strip_prefix(b"HTTP/1.1 ").and_then(|rest: &[u8]| rest.get(..3)) {
            let status = std::str::from_utf8(status).ok().and_then(|status| status.parse().ok());
            return status.map_or(Ending::Foreign, Ending::Status);
        }
        if let Err(ending) = more(stream, &mut read).await {
            return ending;
        }
    }
}

async fn more(stream: &mut (impl AsyncRead + Unpin), read: &mut Vec<u8>) -> Result<(), Ending> {
    read.reserve(SCRATCH_BYTES);
    let got: io::Result<usize> = stream.read_buf(read).await;
    match got {
        Ok(0) => Err(Ending::End),
        Ok(_) => Ok(()),
        Err(error) => Err(error.kind().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_code_is_heard_after_whatever_came_before() {
        let rest = b"\x81\x02hi\x89\x00\x88\x02".to_vec();
        let mut texts = 0;
        let mut stream = &b"\x0f\xa8"[..];
        let ending = heard(&mut stream, rest, |_| {
            texts += 1;
            None
        });
        assert_eq!(ending.await, Ending::Closed(4008));
        assert_eq!(texts, 1);
        assert_eq!(heard(&mut &b"\x81"[..], Vec::new(), |_| None).await, Ending::End);
        assert_eq!(heard(&mut &b"\x81\x02hi"[..], Vec::new(), |_| Some(Ending::Acked)).await, Ending::Acked);
        assert_eq!(answered(&mut &b"HTTP/1.1 503 Service"[..]).await, Ending::Status(503));
        assert_eq!(answered(&mut &b""[..]).await, Ending::End);
    }
}
