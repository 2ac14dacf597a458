//! `ack_delay`: steady beats may be acked late, everything else at once.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{MID, Opcode, RawSocket, TestClient, TestGateway, Token, beat, beats};

const DELAY: Duration = Duration::from_millis(1_500);
/// Long before [`DELAY`], and long after an ack that does not wait.
const AT_ONCE: Duration = Duration::from_millis(1_000);

/// A client that plays content 100 and has asked for late acks; the `at` of its newest beat.
async fn playing(gateway: &TestGateway) -> (TestClient, u64) {
    let mut client = gateway.connect(MID).await;
    client.call(json!({"hello": {"ack_delay": DELAY.as_millis() as u64}})).await;
    let at = client.now() - 1_000;
    client.watch([beat(100, at)]).await;
    (client, at)
}

/// How long the ack of one beat took.
async fn ack_of(client: &mut TestClient, frame: Value) -> Duration {
    let sent = Instant::now();
    let seq = client.send(frame).await;
    client.acked(seq).await;
    sent.elapsed()
}

#[tokio::test]
async fn steady_beats_are_acked_together_and_late() {
    let gateway = TestGateway::start();
    let (mut client, at) = playing(&gateway).await;
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
async fn what_waits_for_a_late_ack_is_committed_already() {
    let mut gateway = TestGateway::start();
    let (mut client, at) = playing(&gateway).await;
    client.send(beats([beat(100, at + 1).pos(77_000)])).await;
    let mut other = gateway.connect(MID).await;
    while other.position(100).await != Some(77_000) {}
    gateway.kill();
    gateway.restart();
    assert_eq!(gateway.connect(MID).await.position(100).await, Some(77_000));
}

#[tokio::test]
async fn a_change_is_acked_at_once() {
    let gateway = TestGateway::start();
    let (mut client, at) = playing(&gateway).await;
    for (step, changed) in (1..).zip([
        beat(100, at).state("paused"),
        beat(100, at).state("playing"),
        beat(100, at).session(2),
        beat(200, at),
        beat(100, at).session(2).state("ended"),
    ]) {
        let took = ack_of(&mut client, beats([changed.clone().with("at", at + step)])).await;
        assert!(took < AT_ONCE, "{changed:?} was acked after {took:?}");
    }
}

#[tokio::test]
async fn a_rejection_is_told_at_once() {
    let gateway = TestGateway::start();
    let (mut client, at) = playing(&gateway).await;
    client.send(beats([beat(100, at + 1)])).await;
    for wrong in [beat(100, at - 1).session(2), beat(100, at + 3_600_000), beat(100, at + 2).with("rate", 17.0)] {
        let took = ack_of(&mut client, beats([wrong.clone()])).await;
        assert!(took < AT_ONCE, "{wrong:?} was rejected after {took:?}");
    }
}

#[tokio::test]
async fn an_operation_does_not_wait_for_a_late_ack() {
    let gateway = TestGateway::start();
    let (mut client, at) = playing(&gateway).await;
    let started = Instant::now();
    client.send(beats([beat(100, at + 1).pos(77_000)])).await;
    assert_eq!(client.position(100).await, Some(77_000));
    assert!(started.elapsed() < AT_ONCE, "answered after {:?}", started.elapsed());
}

#[tokio::test]
async fn the_end_of_a_token_does_not_wait_for_a_late_ack() {
    let gateway = TestGateway::start();
    // Expired within the leeway: it lives for 5 s.
    let mut client = gateway.upgrade().bearer(&Token::of(MID).expires_in(-2).sign()).welcomed().await;
    client.call(json!({"hello": {"ack_delay": 20_000}})).await;
    let at = client.now() - 1_000;
    client.watch([beat(100, at)]).await;
    let seq = client.send(beats([beat(100, at + 1)])).await;
    client.acked(seq).await;
    assert_eq!(client.closed().await, 4002);
}

#[tokio::test]
async fn a_drain_does_not_wait_for_a_late_ack() {
    let gateway = TestGateway::start();
    let (mut client, at) = playing(&gateway).await;
    let seq = client.send(beats([beat(100, at + 1)])).await;
    gateway.terminate();
    client.acked(seq).await;
    assert_eq!(client.closed().await, 1012);
}

#[tokio::test]
async fn a_delay_is_capped_by_the_limit() {
    let gateway = TestGateway::with(&[("limits.ack_delay", "200ms")]);
    let (mut client, at) = playing(&gateway).await;
    assert_eq!(client.welcome()["limits"]["ack_delay"], 200);
    let took = ack_of(&mut client, beats([beat(100, at + 1)])).await;
    assert!(took >= Duration::from_millis(200) && took < AT_ONCE, "acked after {took:?}");
}

#[tokio::test]
async fn whoever_does_not_ask_is_acked_at_once() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    for step in 0..5 {
        let took = ack_of(&mut client, beats([beat(100, at + step)])).await;
        assert!(took < AT_ONCE, "acked after {took:?}");
    }
}

#[tokio::test]
async fn who_asks_for_acks_at_once_gets_them_for_what_was_to_be_acked_late_too() {
    let gateway = TestGateway::start();
    let (mut client, at) = playing(&gateway).await;
    client.send(beats([beat(100, at + 1)])).await;
    client.call(json!({"hello": {"ack_delay": 0}})).await;
    let took = ack_of(&mut client, beats([beat(100, at + 2)])).await;
    assert!(took < AT_ONCE, "after {took:?}");
}

#[tokio::test]
async fn a_close_of_the_client_does_not_wait_for_a_late_ack_and_gets_it_first() {
    let gateway = TestGateway::start();
    let (mut client, at) = playing(&gateway).await;
    let mut last = 0;
    for step in 1..=3 {
        last = client.send(beats([beat(100, at + step)])).await;
    }
    // Committed, and held for later.
    let mut other = gateway.connect(MID).await;
    while other.record(100).await["at"] != at + 3 {}
    let started = Instant::now();
    assert_eq!(client.close(1000).await, 1000);
    assert!(started.elapsed() < AT_ONCE, "closed after {:?}", started.elapsed());
    assert_eq!(client.frames_kept().last(), Some(&json!({"ack": {"seq": last}})));
}

#[tokio::test]
async fn what_came_just_before_a_close_of_the_client_is_answered_before_it() {
    let gateway = TestGateway::start();
    let at = gateway.connect(MID).await.now() - 1_000;
    let close = RawSocket::frame(0x80, Opcode::Close, &1001_u16.to_be_bytes());
    for ack_delay in [0, 20_000] {
        let mut socket = gateway.raw(MID).await;
        let frames = [
            json!({"seq": 1, "hello": {"ack_delay": ack_delay}}),
            json!({"seq": 2, "beats": beats([beat(100, at + ack_delay)])["beats"]}),
            json!({"seq": 3, "beats": beats([beat(100, at + ack_delay + 1)])["beats"]}),
        ];
        let frames = frames.iter().flat_map(|frame| RawSocket::frame(0x80, Opcode::Text, frame.to_string().as_bytes()));
        socket.write(&frames.chain(close.clone()).collect::<Vec<u8>>()).await;
        assert_eq!(socket.json().await["result"]["seq"], 1);
        while socket.json().await["ack"]["seq"] != 3 {}
        assert_eq!(socket.close_code().await, Some(1001));
        socket.ends().await;
    }
}
