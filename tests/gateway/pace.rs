//! A client within all that `welcome.limits` says is never closed for its pace.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep_until};

use crate::support::{MID, NEVER, Opcode, RawSocket, TestGateway, Token, beat};

const BURST: u32 = 100;
/// Frames come so far apart when they come at the rate of `limits.frames_per_second`.
const APART: Duration = Duration::from_millis(50);

fn get(seq: u32) -> Vec<u8> {
    let text = json!({"seq": seq, "get": {"items": []}}).to_string();
    RawSocket::frame(0x80, Opcode::Text, text.as_bytes())
}

/// Reads results up to this one.
async fn answered(socket: &mut RawSocket, seq: u32) {
    while socket.json().await["result"]["seq"] != seq {}
}

/// A burst at once, then as many as the rate allows.
async fn burst_and_rate(socket: &mut RawSocket, first: u32, after_the_burst: u32, frame: impl Fn(u32) -> Vec<u8>) {
    let started = Instant::now();
    let burst: Vec<u8> = (first..first + BURST).flat_map(&frame).collect();
    socket.write(&burst).await;
    for number in 0..after_the_burst {
        sleep_until(started + APART * (number + 1)).await;
        socket.write(&frame(first + BURST + number)).await;
    }
}

#[tokio::test]
async fn frames_at_the_limits_are_served_and_again_after_a_pause() {
    let gateway = TestGateway::start();
    let mut socket = gateway.raw(MID).await;
    burst_and_rate(&mut socket, 1, 40, get).await;
    answered(&mut socket, 140).await;
    tokio::time::sleep(APART * BURST).await;
    burst_and_rate(&mut socket, 141, 20, get).await;
    answered(&mut socket, 260).await;
}

#[tokio::test]
async fn the_answer_to_a_ping_is_not_held_against_a_burst() {
    let gateway = TestGateway::with(&[("socket.ping", "300ms"), ("socket.idle", "20s")]);
    let mut socket = gateway.raw(MID).await;
    let ping = socket.next().await.expect("a ping");
    assert_eq!(ping.first, 0x80 | Opcode::Ping as u8);
    let pong = RawSocket::frame(0x80, Opcode::Pong, &ping.payload);
    let burst: Vec<u8> = pong.into_iter().chain((1..=BURST).flat_map(get)).collect();
    socket.write(&burst).await;
    answered(&mut socket, BURST).await;
}

#[tokio::test]
async fn fragments_at_the_limits_are_served() {
    let gateway = TestGateway::start();
    let mut socket = gateway.raw(MID).await;
    let text = json!({"seq": 1, "get": {"items": []}, "x": "x".repeat(200)}).to_string();
    let mut pieces = text.as_bytes().chunks(1);
    let mut fragment = |bits: u8| {
        let piece = pieces.next().expect("a long text");
        let opcode = if bits & 1 == 1 { Opcode::Text } else { Opcode::Continuation };
        RawSocket::frame(bits & 0x80, opcode, piece)
    };
    let started = Instant::now();
    let burst: Vec<u8> = (0..BURST).flat_map(|number| fragment(u8::from(number == 0))).collect();
    socket.write(&burst).await;
    for number in 0..20 {
        sleep_until(started + APART * (number + 1)).await;
        socket.write(&fragment(0)).await;
    }
    let rest: Vec<u8> = pieces.flatten().copied().collect();
    socket.write(&RawSocket::frame(0x80, Opcode::Continuation, &rest)).await;
    answered(&mut socket, 1).await;
}

#[tokio::test]
async fn bytes_at_the_limits_are_served_whatever_their_frames_add() {
    let gateway = TestGateway::start();
    let mut socket = gateway.raw(MID).await;
    let (frame, burst) = (131_072, 4_194_304);
    let of_size = |seq: u32| {
        let empty = json!({"seq": seq, "get": {"items": []}, "x": ""}).to_string();
        let text = json!({"seq": seq, "get": {"items": []}, "x": "x".repeat(frame - empty.len())}).to_string();
        assert_eq!(text.len(), frame);
        RawSocket::frame(0x80, Opcode::Text, text.as_bytes())
    };
    let full = (burst / frame) as u32;
    let bytes: Vec<u8> = (1..=full).flat_map(of_size).collect();
    socket.write(&bytes).await;
    answered(&mut socket, full).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_for_a_while_may_go_on_at_the_limits() {
    // However long a busy machine takes before it reads.
    let gateway = TestGateway::with(&[("socket.write_timeout", NEVER)]);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 60_000;
    client.watch((0..200).map(|oid| beat(oid, at))).await;
    // 40 KB each.
    let list = |seq: u32| {
        let text = json!({"seq": seq, "list": {"limit": 200}}).to_string();
        RawSocket::frame(0x80, Opcode::Text, text.as_bytes())
    };
    let narrow = RawSocket::connect_narrow(gateway.address()).await;
    let mut socket = narrow.upgraded(Some(&Token::of(MID).sign())).await;
    burst_and_rate(&mut socket, 1, 60, list).await;
    answered(&mut socket, 160).await;
}
