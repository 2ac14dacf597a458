//! A WebSocket written by hand, for frames no library would send and silences no library would keep.

use std::io::ErrorKind;
use std::net::SocketAddr;

use serde_json::Value;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};

use super::in_time;

const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Reserved = 3,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

pub struct RawSocket {
    stream: BufReader<TcpStream>,
    host: SocketAddr,
}

/// One frame of the gateway: its first byte (final bit, reserved bits, opcode) and its payload.
#[derive(Debug)]
pub struct RawFrame {
    pub first: u8,
    pub payload: Vec<u8>,
}

impl RawSocket {
    pub async fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).await.expect("a listener"), address)
    }

    fn over(stream: TcpStream, host: SocketAddr) -> Self {
        Self { stream: BufReader::with_capacity(65_536, stream), host }
    }

    /// Takes in little unless it reads: the kernel's receive buffer is small, and so are the segments, as on an
    /// Ethernet. With the loopback's the kernel takes in megabytes.
    pub async fn connect_narrow(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(16_384).expect("a small buffer");
        SockRef::from(&socket).set_tcp_mss(1460).expect("small segments");
        Self::over(socket.connect(address).await.expect("a listener"), address)
    }

    /// Upgraded; with a token also welcomed.
    pub async fn upgrade(address: SocketAddr, token: Option<&str>) -> Self {
        Self::connect(address).await.upgraded(token).await
    }

    pub async fn upgraded(mut self, token: Option<&str>) -> Self {
        let answer = self.ask_for_upgrade(token).await;
        assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
        if token.is_some() {
            let welcome = self.json().await;
            assert!(welcome["welcome"].is_object(), "{welcome}");
        }
        self
    }

    /// Sends an upgrade request and returns the head of the answer, or what came of it before the connection ended.
    pub async fn ask_for_upgrade(&mut self, token: Option<&str>) -> String {
        let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        let request = format!(
            "GET /v1/connect HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{}\r\n",
            self.host,
            authorization.unwrap_or_default(),
        );
        self.try_write(request.as_bytes()).await;
        self.head_of_answer().await
    }

    /// The head of an answer to an HTTP request, or what came of it before the connection ended.
    pub async fn head_of_answer(&mut self) -> String {
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            match in_time("an answer over HTTP", self.stream.read_u8()).await {
                Ok(byte) => answer.push(byte),
                Err(_) => break,
            }
        }
        String::from_utf8(answer).expect("an ASCII head")
    }

    /// So many bytes.
    pub async fn read(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        in_time("bytes", self.stream.read_exact(&mut bytes)).await.expect("as many bytes");
        bytes
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        in_time("room to write", self.stream.write_all(bytes)).await.expect("the socket takes bytes");
    }

    /// As `write`, to a gateway that may be closing already.
    pub async fn try_write(&mut self, bytes: &[u8]) {
        let _ = in_time("room to write", self.stream.write_all(bytes)).await;
    }

    /// A correct, masked, final text frame.
    pub async fn text(&mut self, text: &str) {
        self.write(&Self::frame(0x80, Opcode::Text, text.as_bytes())).await;
    }

    /// A masked frame; `bits` are the final bit (0x80) and the reserved bits (0x70).
    pub fn frame(bits: u8, opcode: Opcode, payload: &[u8]) -> Vec<u8> {
        let mut frame = Self::head(bits, opcode, payload.len());
        frame.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        frame
    }

    pub fn unmasked(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).expect("a short payload");
        let mut frame = vec![0x80 | opcode as u8, length];
        frame.extend(payload);
        frame
    }

    /// The head of a masked frame that says it carries `length` bytes.
    pub fn head(bits: u8, opcode: Opcode, length: usize) -> Vec<u8> {
        let mut head = vec![bits | opcode as u8];
        match length {
            0..=125 => head.push(0x80 | length as u8),
            126..=0xffff => {
                head.push(0x80 | 126);
                head.extend((length as u16).to_be_bytes());
            }
            _ => {
                head.push(0x80 | 127);
                head.extend((length as u64).to_be_bytes());
            }
        }
        head.extend(MASK);
        head
    }

    /// The next frame; none at the end of the stream.
    pub async fn next(&mut self) -> Option<RawFrame> {
        in_time("a frame", self.read_frame()).await
    }

    async fn read_frame(&mut self) -> Option<RawFrame> {
        let mut head = [0; 2];
        if let Err(error) = self.stream.read_exact(&mut head).await {
            let ended = matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset);
            assert!(ended, "{error}");
            return None;
        }
        assert_eq!(head[1] & 0x80, 0, "a server never masks");
        let length = match head[1] {
            126 => usize::from(self.stream.read_u16().await.ok()?),
            127 => usize::try_from(self.stream.read_u64().await.ok()?).expect("a length"),
            short => usize::from(short),
        };
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).await.ok()?;
        Some(RawFrame { first: head[0], payload })
    }

    /// The next text frame; control frames are passed over and stay unanswered.
    pub async fn json(&mut self) -> Value {
        loop {
            let frame = self.next().await.expect("a frame before the end");
            if frame.first == 0x80 | Opcode::Text as u8 {
                return serde_json::from_slice(&frame.payload).expect("JSON");
            }
        }
    }

    /// The code of the close frame; none if the stream ends without one. 1005: a frame without a code.
    pub async fn close_code(&mut self) -> Option<u16> {
        loop {
            let frame = self.next().await?;
            if frame.first == 0x80 | Opcode::Close as u8 {
                let code = frame.payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                return Some(code.unwrap_or(1005));
            }
        }
    }

    /// The stream ends without another frame.
    pub async fn ends(&mut self) {
        let frame = self.next().await;
        assert!(frame.is_none(), "a frame after the end: {frame:?}");
    }

    /// Everything until the end of the stream, for answers that are no WebSocket.
    pub async fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        let _ = in_time("the end of the stream", self.stream.read_to_end(&mut rest)).await;
        String::from_utf8_lossy(&rest).into_owned()
    }
}
