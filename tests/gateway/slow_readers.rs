//! Clients that do not read what is sent to them, and others that do.

use futures_util::future::join_all;
use serde_json::json;

use crate::support::{MID, RawSocket, TestGateway, Token, beat, beats};

const TOO_SLOW: &str = r#"heartline_closes_total{code="4009"}"#;

/// Reads nothing while others write, and all of it once the gateway has had enough.
#[tokio::test]
async fn a_client_that_reads_too_slowly_is_closed_with_4009() {
    let quick = [("socket.write_timeout", "300ms"), ("limits.burst", "2000"), ("limits.frames_per_second", "1000")];
    let gateway = TestGateway::with(&quick);
    let slow = RawSocket::connect_narrow(gateway.address()).await;
    let mut slow = slow.upgraded(Some(&Token::of(MID).sign())).await;
    let mut origin = gateway.connect(MID).await;
    let at = origin.now() - 60_000;
    let write_on = async {
        // Changes of state, so that each is pushed at once; the kernel takes in some megabytes of them.
        for (step, state) in (0..).zip(["playing", "paused"].into_iter().cycle()) {
            origin.watch((0..500).map(|oid| beat(oid, at + step).state(state))).await;
        }
    };
    tokio::select! {
        () = write_on => unreachable!("there is no last step"),
        () = gateway.wait_for_metric(TOO_SLOW, |closed| closed == 1.0) => {}
    }
    assert_eq!(slow.close_code().await, Some(4009));
    origin.still_serves().await;
}

#[tokio::test]
async fn a_client_that_reads_is_not_closed_however_much_others_write() {
    let gateway = TestGateway::start();
    let mut origin = gateway.connect(MID).await;
    let mut reader = gateway.connect(MID).await;
    let at = origin.now() - 1_000;
    let mut last = 0;
    for frame in 0..8 {
        last = origin.send(beats((0..500).map(|oid| beat(frame * 500 + oid, at)))).await;
    }
    for _ in 0..4_000 {
        reader.pushed_record().await;
    }
    origin.acked(last).await;
    reader.still_serves().await;
}

/// What the server has to say waits for a reader only so long; meanwhile it reads nothing from it either.
#[tokio::test]
async fn a_client_that_does_not_read_its_answers_is_closed_with_4009() {
    let gateway = TestGateway::with(&[("socket.write_timeout", "500ms"), ("limits.burst", "2000")]);
    let mut writer = gateway.connect(MID).await;
    let at = writer.now();
    writer.watch((0..200).map(|oid| beat(oid, at))).await;
    let slow = RawSocket::connect_narrow(gateway.address()).await;
    let mut slow = slow.upgraded(Some(&Token::of(MID).sign())).await;
    for seq in 1..=400 {
        slow.text(&json!({"seq": seq, "list": {"limit": 200}}).to_string()).await;
    }
    gateway.wait_for_metric(TOO_SLOW, |closed| closed == 1.0).await;
    writer.still_serves().await;
}

/// Several devices come back with full outboxes at once; that is no fault of the one that looks on.
#[tokio::test]
async fn a_client_that_reads_is_not_closed_when_others_reconnect_together() {
    let gateway = TestGateway::start();
    let mut reader = gateway.connect(MID).await;
    let at = reader.now() - 1_000;
    let mut origins = join_all((0..6).map(|_| gateway.connect(MID))).await;
    let flush = origins.iter_mut().zip(0..).map(async |(origin, number)| {
        let outbox = (0..500).map(|oid| beat(number * 500 + oid, at));
        origin.watch(outbox).await;
    });
    join_all(flush).await;
    for _ in 0..3_000 {
        reader.pushed_record().await;
    }
    reader.still_serves().await;
    for origin in &mut origins {
        origin.still_serves().await;
    }
}
