//! Violations of the WebSocket protocol, byte by byte.

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{MID, Opcode, RawSocket, TestGateway};

const FINAL: u8 = 0x80;

/// Sends `bytes` on a welcomed socket; the close code, while another connection lives on.
async fn closes(gateway: &TestGateway, bytes: &[u8]) -> Option<u16> {
    let mut bystander = gateway.connect(MID).await;
    let mut socket = gateway.raw(MID).await;
    socket.write(bytes).await;
    let code = socket.close_code().await;
    bystander.still_serves().await;
    code
}

#[tokio::test]
async fn broken_frames_close_with_1002() {
    let gateway = TestGateway::start();
    let frame = RawSocket::frame;
    let rows = [
        ("unmasked", RawSocket::unmasked(Opcode::Text, b"{}")),
        ("reserved bit 1", frame(FINAL | 0x40, Opcode::Text, b"{}")),
        ("reserved bit 2", frame(FINAL | 0x20, Opcode::Text, b"{}")),
        ("reserved bit 3", frame(FINAL | 0x10, Opcode::Text, b"{}")),
        ("reserved opcode", frame(FINAL, Opcode::Reserved, b"{}")),
        ("continuation of nothing", frame(FINAL, Opcode::Continuation, b"{}")),
        ("ping in fragments", frame(0, Opcode::Ping, b"x")),
        ("long ping", frame(FINAL, Opcode::Ping, &[b'x'; 126])),
        ("close code of one byte", frame(FINAL, Opcode::Close, &[3])),
        ("close code 999", frame(FINAL, Opcode::Close, &999_u16.to_be_bytes())),
        ("close code 1005", frame(FINAL, Opcode::Close, &1005_u16.to_be_bytes())),
        ("text inside a text", [frame(0, Opcode::Text, b"{"), frame(FINAL, Opcode::Text, b"}")].concat()),
    ];
    for (what, bytes) in rows {
        assert_eq!(closes(&gateway, &bytes).await, Some(1002), "{what}");
    }
}

#[tokio::test]
async fn a_binary_message_on_a_json_socket_closes_with_1003() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    client.send_message(Message::binary(&b"{}"[..])).await;
    assert_eq!(client.closed().await, 1003);
}

#[tokio::test]
async fn text_that_is_not_utf_8_closes_with_1007() {
    let gateway = TestGateway::start();
    for text in [&b"\xff\xfe"[..], b"{\"seq\":1,\"x\":\"\xc3\x28\"}", b"\xed\xa0\x80", b"{}\xf0\x9f"] {
        let bytes = RawSocket::frame(FINAL, Opcode::Text, text);
        assert_eq!(closes(&gateway, &bytes).await, Some(1007), "{text:?}");
    }
}

#[tokio::test]
async fn a_reason_for_closing_that_is_not_utf_8_closes_with_1007() {
    let gateway = TestGateway::start();
    let close = RawSocket::frame(FINAL, Opcode::Close, b"\x03\xe8\xff\xff");
    assert_eq!(closes(&gateway, &close).await, Some(1007));
}

#[tokio::test]
async fn a_character_may_be_split_between_fragments() {
    let gateway = TestGateway::start();
    let mut socket = gateway.raw(MID).await;
    let text = r#"{"seq":1,"hello":{"device":"€"}}"#.as_bytes();
    let middle = text.iter().position(|byte| *byte > 127).expect("a wide character") + 1;
    socket.write(&RawSocket::frame(0, Opcode::Text, &text[..middle])).await;
    socket.write(&RawSocket::frame(FINAL, Opcode::Continuation, &text[middle..])).await;
    assert_eq!(socket.json().await["result"]["seq"], 1);
}

#[tokio::test]
async fn a_frame_over_the_size_closes_with_1009() {
    let gateway = TestGateway::start();
    let text = vec![b' '; 131_073];
    let bytes = RawSocket::frame(FINAL, Opcode::Text, &text);
    assert_eq!(closes(&gateway, &bytes).await, Some(1009));
}

#[tokio::test]
async fn a_frame_that_only_announces_too_much_closes_with_1009() {
    let gateway = TestGateway::start();
    for length in [131_073, 1 << 30, 1 << 62] {
        let head = RawSocket::head(FINAL, Opcode::Text, length);
        assert_eq!(closes(&gateway, &head).await, Some(1009), "{length}");
    }
}

#[tokio::test]
async fn a_message_in_fragments_over_the_size_closes_with_1009() {
    let gateway = TestGateway::start();
    let part = vec![b' '; 50_000];
    let mut bytes = RawSocket::frame(0, Opcode::Text, &part);
    for _ in 0..2 {
        bytes.extend(RawSocket::frame(0, Opcode::Continuation, &part));
    }
    assert_eq!(closes(&gateway, &bytes).await, Some(1009));
}

#[tokio::test]
async fn a_frame_of_exactly_the_size_is_taken() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let mut text = json!({"seq": 1, "get": {"items": []}}).to_string();
    text.push_str(&" ".repeat(131_072 - text.len()));
    client.send_text(&text).await;
    client.answer(1).await;
}

#[tokio::test]
async fn fragments_with_a_ping_between_are_one_message() {
    let gateway = TestGateway::start();
    let mut socket = gateway.raw(MID).await;
    let (head, tail) = (&br#"{"seq":1,"get":"#[..], &br#"{"items":[]}}"#[..]);
    socket.write(&RawSocket::frame(0, Opcode::Text, head)).await;
    socket.write(&RawSocket::frame(FINAL, Opcode::Ping, b"between")).await;
    let pong = socket.next().await.expect("a pong");
    assert_eq!((pong.first, pong.payload.as_slice()), (FINAL | Opcode::Pong as u8, &b"between"[..]));
    socket.write(&RawSocket::frame(FINAL, Opcode::Continuation, tail)).await;
    assert_eq!(socket.json().await["result"]["seq"], 1);
}

#[tokio::test]
async fn a_frame_may_come_byte_by_byte() {
    let gateway = TestGateway::start();
    let mut socket = gateway.raw(MID).await;
    let frame = RawSocket::frame(FINAL, Opcode::Text, br#"{"seq":1,"get":{"items":[]}}"#);
    for byte in frame {
        socket.write(&[byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(socket.json().await["result"]["seq"], 1);
}

#[tokio::test]
async fn wire_errors_before_the_welcome_keep_their_codes() {
    let gateway = TestGateway::start();
    let rows = [
        (RawSocket::unmasked(Opcode::Text, b"{}"), 1002),
        (RawSocket::frame(FINAL, Opcode::Binary, b"{}"), 1003),
        (RawSocket::frame(FINAL, Opcode::Text, b"\xff"), 1007),
        (RawSocket::head(FINAL, Opcode::Text, 200_000), 1009),
    ];
    for (bytes, code) in rows {
        let mut socket = RawSocket::upgrade(gateway.address(), None).await;
        socket.write(&bytes).await;
        assert_eq!(socket.close_code().await, Some(code));
    }
}

#[tokio::test]
async fn the_close_code_arrives_even_if_more_input_comes_in() {
    let gateway = TestGateway::start();
    let mut socket = gateway.raw(MID).await;
    socket.write(&RawSocket::unmasked(Opcode::Text, b"{}")).await;
    // Without the discarding of input these would turn the close frame into a reset.
    for _ in 0..50 {
        socket.try_write(&RawSocket::frame(FINAL, Opcode::Text, &[b' '; 10_000])).await;
    }
    assert_eq!(socket.close_code().await, Some(1002));
}
