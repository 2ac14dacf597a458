//! `ack_delay`: steady beats may be acked late, everything else at once.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Beat, MID, NEVER, Opcode, RawSocket, TestClient, TestGateway, Token, beat, beats, until};

const DELAY: Duration = Duration::from_secs(3);
/// An ack that waits for it does not come in the time of a test.
const NO_ACK: Duration = Duration::from_mins(10);

fn gateway() -> TestGateway {
    TestGateway::with(&[("limits.ack_delay", NEVER), ("server.drain_timeout", NEVER)])
}

/// A client that plays content 100 and has asked for acks as late as this; the `at` of its newest beat.
async fn playing(gateway: &TestGateway, delay: Duration) -> (TestClient, u64) {
    let mut client = gateway.connect(MID).await;
    client.call(json!({"hello": {"ack_delay": delay.as_millis() as u64}})).await;
    let at = client.now() - 1_000;
    client.watch([beat(100, at)]).await;
    (client, at)
}

/// Waits for the ack of one beat.
async fn ack_of(client: &mut TestClient, beat: Beat) {
    let seq = client.send(beats([beat])).await;
    client.acked(seq).await;
}

#[tokio::test]
async fn steady_beats_are_acked_together_and_late() {
    let gateway = gateway();
    let (mut client, at) = playing(&gateway, DELAY).await;
    let started = Instant::now();
    let mut last = 0;
    for step in 1..=10 {
        last = client.send(beats([beat(100, at + step)])).await;
    }
    let ack = client.next().await;
    assert_eq!(ack, json!({"ack": {"seq": last}}), "one ack for all");
    assert!(started.elapsed() >= DELAY, "after {:?}", started.elapsed());
}

#[tokio::test]
async fn beats_that_wait_for_a_late_ack_are_committed_already() {
    let mut gateway = gateway();
    let (mut client, at) = playing(&gateway, NO_ACK).await;
    client.send(beats([beat(100, at + 1).pos(77_000)])).await;
    let mut other = gateway.connect(MID).await;
    until("the commit", async || other.position(100).await == Some(77_000)).await;
    gateway.kill();
    gateway.restart();
    assert_eq!(gateway.connect(MID).await.position(100).await, Some(77_000));
}

#[tokio::test]
async fn a_change_of_state_session_or_content_is_acked_at_once() {
    let gateway = gateway();
    let (mut client, at) = playing(&gateway, NO_ACK).await;
    for (step, changed) in (1..).zip([
        beat(100, at).state("paused"),
        beat(100, at).state("playing"),
        beat(100, at).session(2),
        beat(200, at),
        beat(100, at).session(2).state("ended"),
    ]) {
        ack_of(&mut client, changed.with("at", at + step)).await;
    }
}

#[tokio::test]
async fn a_rejection_is_told_at_once() {
    let gateway = gateway();
    let (mut client, at) = playing(&gateway, NO_ACK).await;
    client.send(beats([beat(100, at + 1)])).await;
    for wrong in [beat(100, at - 1).session(2), beat(100, at + 3_600_000), beat(100, at + 2).with("rate", 17.0)] {
        ack_of(&mut client, wrong).await;
    }
}

#[tokio::test]
async fn an_operation_does_not_wait_for_a_late_ack() {
    let gateway = gateway();
    let (mut client, at) = playing(&gateway, NO_ACK).await;
    client.send(beats([beat(100, at + 1).pos(77_000)])).await;
    assert_eq!(client.position(100).await, Some(77_000));
}

#[tokio::test]
async fn the_end_of_a_token_does_not_wait_for_a_late_ack() {
    let gateway = gateway();
    // Expired within the leeway: it lives for 5 s.
    let mut client = gateway.upgrade().bearer(&Token::of(MID).expires_in(-2).sign()).welcomed().await;
    client.call(json!({"hello": {"ack_delay": NO_ACK.as_millis() as u64}})).await;
    let at = client.now() - 1_000;
    client.watch([beat(100, at)]).await;
    let seq = client.send(beats([beat(100, at + 1)])).await;
    client.acked(seq).await;
    assert_eq!(client.closed().await, 4002);
}

#[tokio::test]
async fn a_drain_does_not_wait_for_a_late_ack() {
    let gateway = gateway();
    let (mut client, at) = playing(&gateway, NO_ACK).await;
    let seq = client.send(beats([beat(100, at + 1)])).await;
    gateway.terminate();
    client.acked(seq).await;
    assert_eq!(client.closed().await, 1012);
}

#[tokio::test]
async fn a_delay_is_capped_by_the_limit() {
    let gateway = TestGateway::with(&[("limits.ack_delay", "200ms")]);
    let (mut client, at) = playing(&gateway, NO_ACK).await;
    assert_eq!(client.welcome()["limits"]["ack_delay"], 200);
    let sent = Instant::now();
    ack_of(&mut client, beat(100, at + 1)).await;
    assert!(sent.elapsed() >= Duration::from_millis(200), "acked after {:?}", sent.elapsed());
}

#[tokio::test]
async fn a_client_that_does_not_ask_for_late_acks_is_acked_at_once() {
    let gateway = gateway();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    for step in 0..5 {
        ack_of(&mut client, beat(100, at + step)).await;
    }
}

#[tokio::test]
async fn a_hello_without_delay_also_hastens_acks_that_wait() {
    let gateway = gateway();
    let (mut client, at) = playing(&gateway, NO_ACK).await;
    client.send(beats([beat(100, at + 1)])).await;
    client.call(json!({"hello": {"ack_delay": 0}})).await;
    ack_of(&mut client, beat(100, at + 2)).await;
}

#[tokio::test]
async fn a_close_of_the_client_does_not_wait_for_a_late_ack_and_gets_it_first() {
    let gateway = gateway();
    let (mut client, at) = playing(&gateway, NO_ACK).await;
    let mut last = 0;
    for step in 1..=3 {
        last = client.send(beats([beat(100, at + step)])).await;
    }
    // Committed, and held for later.
    let mut other = gateway.connect(MID).await;
    until("the commit", async || other.record(100).await["at"] == at + 3).await;
    assert_eq!(client.close(1000).await, 1000);
    assert_eq!(client.frames_kept().last(), Some(&json!({"ack": {"seq": last}})));
}

#[tokio::test]
async fn frames_just_before_a_close_of_the_client_are_answered_before_the_close() {
    let gateway = gateway();
    let at = gateway.connect(MID).await.now() - 1_000;
    let close = RawSocket::frame(0x80, Opcode::Close, &1001_u16.to_be_bytes());
    for (later, ack_delay) in [(0, 0), (2, NO_ACK.as_millis() as u64)] {
        let mut socket = gateway.raw(MID).await;
        let frames = [
            json!({"seq": 1, "hello": {"ack_delay": ack_delay}}),
            json!({"seq": 2, "beats": beats([beat(100, at + later)])["beats"]}),
            json!({"seq": 3, "beats": beats([beat(100, at + later + 1)])["beats"]}),
        ];
        let frames = frames.iter().flat_map(|frame| RawSocket::frame(0x80, Opcode::Text, frame.to_string().as_bytes()));
        socket.write(&frames.chain(close.clone()).collect::<Vec<u8>>()).await;
        assert_eq!(socket.json().await["result"]["seq"], 1);
        while socket.json().await["ack"]["seq"] != 3 {}
        assert_eq!(socket.close_code().await, Some(1001));
        socket.ends().await;
    }
}
