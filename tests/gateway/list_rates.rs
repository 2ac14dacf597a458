//! Lists of one user come one at a time, and their rows at a rate: a socket's wait, and requests are answered 429.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{MID, NEVER, RawSocket, TestClient, TestGateway, Token, beat};

const OTHER: u64 = 7;
const CONTENTS: u64 = 250;
const LIST_WAITS: &str = "heartline_list_wait_seconds_count";

/// A gateway whose user has a history, and may look at so many rows a second.
async fn gateway(rows_per_second: &str) -> (TestGateway, TestClient) {
    let gateway = TestGateway::with(&[
        ("limits.list_rows_per_second", rows_per_second),
        ("limits.list_rows_burst", "1"),
        ("limits.burst", "2000"),
        ("socket.write_timeout", NEVER),
        ("server.drain_timeout", NEVER),
    ]);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch((0..CONTENTS).map(|oid| beat(oid, at - oid))).await;
    (gateway, client)
}

/// A list that looks at more than 200 rows on any store.
fn long_list() -> Value {
    json!({"list": {"limit": 200}})
}

async fn listed(client: &mut TestClient) {
    assert_eq!(client.call(long_list()).await["records"].as_array().expect("records").len(), 200);
}

#[tokio::test]
async fn a_list_beyond_the_rate_waits_while_beats_are_acked() {
    let (_gateway, mut client) = gateway("100").await;
    let began = Instant::now();
    listed(&mut client).await;
    let list = client.send(long_list()).await;
    for oid in 1_000..1_003 {
        let at = client.now();
        client.watch([beat(oid, at)]).await;
    }
    assert!(client.kept("result").is_empty(), "the list has not waited");
    assert!(client.answer(list).await["result"].is_object());
    // 200 rows at least, at 100 a second.
    assert!(began.elapsed() > Duration::from_millis(1_900), "listed after {:?}", began.elapsed());
}

#[tokio::test]
async fn frames_behind_a_waiting_list_are_answered_after_it_however_long_it_waits() {
    // Longer than an operation waits for the beats before it.
    let (gateway, mut client) = gateway("35").await;
    let began = Instant::now();
    listed(&mut client).await;
    let waits = gateway.metric(LIST_WAITS).await;
    let list = client.send(long_list()).await;
    let at = client.now();
    let delete = client.send(json!({"delete": {"items": [{"kind": 1, "oid": "0"}], "at": at}})).await;
    let get = client.send(json!({"get": {"items": [{"kind": 1, "oid": "0"}]}})).await;
    let beats = client.send(json!({"beats": {"items": []}})).await;
    let mut other = gateway.connect(OTHER).await;
    assert_eq!(other.call(json!({"list": {}})).await["records"], json!([]));
    assert_eq!(gateway.metric(LIST_WAITS).await, waits, "another user has waited for the first");

    let answer = client.answer(list).await;
    assert_eq!(answer["result"]["records"][0]["oid"], "0", "the delete came before the list");
    assert!(began.elapsed() > Duration::from_secs(5), "listed after {:?}", began.elapsed());
    assert!(client.answer(delete).await["result"].is_object());
    assert_eq!(client.answer(get).await["result"]["records"], json!([null]));
    client.acked(beats).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_does_not_block_lists_of_its_user() {
    for rows_per_second in ["100", "50", "25"] {
        if serves_beside_a_deaf_client(rows_per_second).await {
            return;
        }
    }
    panic!("the turn of a list comes before its client is deaf, however long the list waits");
}

/// False: the list got its turn before its client had stopped reading, so nothing is known.
async fn serves_beside_a_deaf_client(rows_per_second: &str) -> bool {
    let (gateway, mut client) = gateway(rows_per_second).await;
    let deaf = RawSocket::connect_narrow(gateway.address()).await;
    let mut deaf = deaf.upgraded(Some(&Token::of(MID).sign())).await;
    listed(&mut client).await;
    deaf.text(&json!({"seq": 1, "list": {"limit": 200}}).to_string()).await;
    let waits = gateway.metric(LIST_WAITS).await;
    let at = client.now();
    // Pushed at once, and more than the kernel takes in.
    for (step, state) in [(0, "playing"), (1, "paused"), (2, "playing")] {
        client.watch((1_000..1_500).map(|oid| beat(oid, at + step).state(state))).await;
    }
    if gateway.metric(LIST_WAITS).await > waits {
        return false;
    }
    // Two lists have to be paid for.
    listed(&mut client).await;
    true
}

#[tokio::test]
async fn lists_of_several_sockets_wait_for_each_other() {
    let (gateway, mut client) = gateway("400").await;
    let began = Instant::now();
    listed(&mut client).await;
    let mut clients = vec![client];
    for _ in 0..3 {
        clients.push(gateway.connect(MID).await);
    }
    let mut lists = Vec::new();
    for client in &mut clients {
        lists.push(client.send(long_list()).await);
    }
    for (client, list) in clients.iter_mut().zip(lists) {
        assert!(client.answer(list).await["result"].is_object());
    }
    // Four times 200 rows at least, at 400 a second; those of the last are not waited for.
    assert!(began.elapsed() > Duration::from_millis(1_900), "listed after {:?}", began.elapsed());
    assert!(gateway.metric("heartline_list_rows_total").await >= 1_000.0);
    assert_eq!(gateway.metric("heartline_list_wait_seconds_count").await, 4.0);
}

#[tokio::test]
async fn over_http_a_list_beyond_the_rate_is_answered_429_and_served_after_retry_after() {
    let (gateway, mut client) = gateway("50").await;
    let http = gateway.http(MID);
    let began = Instant::now();
    assert_eq!(http.get("/v1/history?limit=200").await.status, 200);
    let refused = http.get("/v1/history?limit=200").await;
    refused.problem(429, "too_fast");
    let seconds: u64 = refused.headers["retry-after"].to_str().expect("text").parse().expect("whole seconds");
    // 200 rows at least, at 50 a second, of which some have passed.
    let least = Duration::from_secs(4).saturating_sub(began.elapsed());
    assert!(Duration::from_secs(seconds) >= least && seconds <= 5, "Retry-After: {seconds}");
    let told = Instant::now();
    assert_eq!(http.get("/v1/history/1/0").await.status, 200, "only lists wait");
    assert_eq!(gateway.http(OTHER).get("/v1/history").await.status, 200);
    assert_eq!(gateway.metric("heartline_list_refusals_total").await, 1.0);
    tokio::time::sleep(Duration::from_secs(seconds).saturating_sub(told.elapsed())).await;
    assert_eq!(http.get("/v1/history?limit=200").await.status, 200);
    // The socket has no rate of its own.
    listed(&mut client).await;
    assert!(began.elapsed() > Duration::from_millis(7_900), "the socket has waited until {:?}", began.elapsed());
}

#[tokio::test]
async fn a_waiting_list_does_not_hold_the_drain() {
    let (mut gateway, mut client) = gateway("1").await;
    listed(&mut client).await;
    let list = client.send(long_list()).await;
    let beats = client.send(json!({"beats": {"items": []}})).await;
    client.acked(beats).await;
    let began = Instant::now();
    gateway.terminate();
    assert_eq!(client.closed().await, 1012);
    // A list waits for 30 s at most.
    assert!(began.elapsed() < Duration::from_secs(15), "drained after {:?}", began.elapsed());
    let frames = client.frames_kept();
    let answer = frames.iter().find(|frame| frame["error"]["seq"] == list).expect("an answer");
    assert_eq!((&answer["error"]["code"], &answer["error"]["retry"]), (&json!("unavailable"), &json!(true)));
    assert_eq!(gateway.ended().await.code(), Some(0));
}

#[tokio::test]
async fn a_client_within_its_limits_is_not_closed_while_its_lists_wait() {
    let (_gateway, mut client) = gateway("5000").await;
    // A burst, and then some at the rate of the frames; each waits for the rows of the one before it.
    for number in 0..130 {
        if number >= 100 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        client.send(json!({"list": {"limit": 100, "kinds": [1]}})).await;
    }
    for list in 2..=client.last_seq() {
        assert!(client.answer(list).await["result"].is_object());
    }
    client.still_serves().await;
}
