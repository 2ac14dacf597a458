//! Too many frames on a socket, too many requests of a user.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{MID, Opcode, RawSocket, TestClient, TestGateway, beat, beats};

/// Sends one frame after another until the socket closes.
async fn flood(client: &mut TestClient) {
    for seq in 1..400 {
        let frame = json!({"seq": seq, "get": {"items": []}}).to_string();
        if client.try_send_text(&frame).await.is_err() {
            break;
        }
    }
}

#[tokio::test]
async fn too_many_frames_close_with_4008() {
    let gateway = TestGateway::start();
    let mut bystander = gateway.connect(MID).await;
    let mut client = gateway.connect(MID).await;
    flood(&mut client).await;
    assert_eq!(client.closed().await, 4008);
    let answered = client.frames_kept().len();
    assert!((100..400).contains(&answered), "{answered} answered before the close");
    bystander.still_serves().await;
}

#[tokio::test]
async fn a_burst_within_the_limit_is_served() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    for _ in 0..95 {
        client.send(json!({"get": {"items": []}})).await;
    }
    client.answer(95).await;
}

#[tokio::test]
async fn the_rate_is_regained_with_time() {
    let gateway = TestGateway::with(&[("limits.frames_per_second", "50"), ("limits.burst", "10")]);
    let mut client = gateway.connect(MID).await;
    for _ in 0..3 {
        for _ in 0..8 {
            client.send(json!({"get": {"items": []}})).await;
        }
        client.still_serves().await;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
}

#[tokio::test]
async fn broken_frames_count_as_frames() {
    let gateway = TestGateway::with(&[("limits.frames_per_second", "1"), ("limits.burst", "5")]);
    let mut client = gateway.connect(MID).await;
    for seq in 1..20 {
        let frame = json!({"seq": seq, "salute": {}}).to_string();
        if client.try_send_text(&frame).await.is_err() {
            break;
        }
    }
    assert_eq!(client.closed().await, 4008);
}

#[tokio::test]
async fn beats_of_a_flood_that_were_acked_are_stored() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch([beat(1, at)]).await;
    for seq in 2..400 {
        let mut frame = beats([beat(seq, at)]);
        frame["seq"] = json!(seq);
        if client.try_send_text(&frame.to_string()).await.is_err() {
            break;
        }
    }
    assert_eq!(client.closed().await, 4008);
    let last = |frame: &Value| frame["ack"]["seq"].as_u64();
    let acked = client.frames_kept().iter().filter_map(last).max().unwrap_or(1);
    let mut client = gateway.connect(MID).await;
    for oid in [1, acked / 2 + 1, acked] {
        assert_eq!(client.position(oid).await, Some(10_000), "oid {oid}");
    }
}

#[tokio::test]
async fn a_flood_of_pings_is_a_flood_of_frames() {
    let gateway = TestGateway::start();
    let mut bystander = gateway.connect(MID).await;
    let mut socket = gateway.raw(MID).await;
    for _ in 0..400 {
        socket.try_write(&RawSocket::frame(0x80, Opcode::Ping, b"?")).await;
    }
    assert_eq!(socket.close_code().await, Some(4008));
    bystander.still_serves().await;
}

#[tokio::test]
async fn too_many_requests_of_one_user_are_a_429_with_retry_after() {
    let gateway = TestGateway::with(&[("limits.burst", "5"), ("limits.frames_per_second", "1")]);
    let http = gateway.http(MID);
    let (began, mut served) = (Instant::now(), 0);
    let answer = loop {
        match http.get("/v1/recording").await {
            answer if answer.status == 200 => served += 1,
            answer => break answer,
        }
        // A burst, and one a second.
        assert!(f64::from(served) <= 5.0 + began.elapsed().as_secs_f64(), "{served} in {:?}", began.elapsed());
    };
    assert!(served >= 5, "{served} of a burst");
    answer.problem(429, "too_fast");
    assert!(answer.header("retry-after").expect("retry-after").parse::<u32>().is_ok());
    assert_eq!(gateway.http(43).get("/v1/recording").await.status, 200, "another user");
}
