//! The end of an attacker's connection, as the attacker saw it.

use std::fmt;
use std::io::{self, ErrorKind};

use tokio::io::{AsyncRead, AsyncReadExt};

use super::super::dial::DialError;
use super::super::wire::{self, Opcode};

/// Bytes that are read and discarded at a time.
const SCRATCH_BYTES: usize = 16 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A close with this code; 1005 = no code.
    Closed(u16),
    /// An HTTP status instead of the upgrade.
    Status(u16),
    /// The end of the stream without a close.
    End,
    Reset,
    Lost(ErrorKind),
    /// The connection failed.
    Unconnected(ErrorKind),
    /// Bytes that are not of the protocol.
    Foreign,
    /// Welcomed, and then closed by the attacker.
    Welcomed,
    /// All its beats were acked, and none was rejected.
    Acked,
    Rejected,
    /// Still open when the attack was over.
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

/// Reads to the end of the connection and returns its ending; `hear` may return an ending for a text. `rest` has the
/// bytes that were read already.
pub async fn heard(
    stream: &mut (impl AsyncRead + Unpin),
    mut rest: Vec<u8>,
    hear: impl FnMut(&[u8]) -> Option<Ending>,
) -> Ending {
    heard_so_far(stream, &mut rest, hear).await
}

/// Like `heard`, for a caller that reads on: unused bytes stay in `rest`.
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

/// Like `heard`, before the upgrade: any answer is an HTTP response.
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
    async fn a_close_code_is_found_after_other_frames() {
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
