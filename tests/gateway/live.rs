//! `/v1/live` on the control listener: the live numbers.

use serde_json::{Value, json};

use crate::support::{MID, NEVER, TestGateway, beat, reasons, until};

/// No session runs out while a test looks.
const LASTING: [(&str, &str); 1] = [("live.timeout", NEVER)];

async fn get(gateway: &TestGateway, path: &str) -> Value {
    gateway.control().get(path).await.json()
}

async fn wait_for(gateway: &TestGateway, path: &str, expected: Value) {
    until(&format!("{expected} at {path}"), async || get(gateway, path).await == expected).await;
}

/// The content (1, `oid`) has so many sessions of so many users.
async fn wait_for_counts(gateway: &TestGateway, oid: u64, sessions: u64, users: u64) {
    wait_for(gateway, &format!("/v1/live/1/{oid}"), json!({"sessions": sessions, "users": users})).await;
}

#[tokio::test]
async fn joining_and_leaving_sessions_are_counted() {
    let gateway = TestGateway::with(&LASTING);
    let empty = get(&gateway, "/v1/live").await;
    assert!(empty["at"].as_u64().is_some_and(|at| at > 0), "{empty}");
    assert_eq!((&empty["users"], &empty["sessions"], &empty["kinds"]), (&json!(0), &json!(0), &json!([])));
    wait_for_counts(&gateway, 100, 0, 0).await;

    let (mut one, mut two) = (gateway.connect(MID).await, gateway.connect(43).await);
    let now = one.now();
    one.watch([beat(100, now)]).await;
    one.watch([beat(200, now).session(2)]).await;
    two.watch([beat(100, now)]).await;
    two.watch([beat(5, now).kind(3).session(2)]).await;
    wait_for_counts(&gateway, 100, 2, 2).await;
    wait_for_counts(&gateway, 200, 1, 1).await;
    wait_for(&gateway, "/v1/live/3/5", json!({"sessions": 1, "users": 1})).await;
    let live = get(&gateway, "/v1/live").await;
    assert_eq!((&live["users"], &live["sessions"]), (&json!(2), &json!(4)));
    assert_eq!(live["kinds"], json!([{"kind": 1, "sessions": 3}, {"kind": 3, "sessions": 1}]));

    // Another content is a move, and a pause changes nothing.
    one.watch([beat(300, now + 1)]).await;
    two.watch([beat(100, now + 1).state("paused")]).await;
    two.watch([beat(5, now + 1).kind(3).session(2).state("ended")]).await;
    wait_for_counts(&gateway, 300, 1, 1).await;
    wait_for_counts(&gateway, 100, 1, 1).await;
    wait_for(&gateway, "/v1/live/3/5", json!({"sessions": 0, "users": 0})).await;
    assert_eq!(get(&gateway, "/v1/live").await["kinds"], json!([{"kind": 1, "sessions": 3}]));
}

#[tokio::test]
async fn a_session_runs_out_without_beats() {
    let gateway = TestGateway::with(&[("socket.heartbeat_interval", "200ms"), ("live.timeout", "1500ms")]);
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    client.watch([beat(100, now)]).await;
    until("a visit", async || !get(&gateway, "/v1/live/tail").await["tail"][0].is_null()).await;
    wait_for_counts(&gateway, 100, 0, 0).await;
    // One that is older than the timeout makes none.
    client.watch([beat(200, now - 10_000).session(2)]).await;
    let now = client.now();
    client.watch([beat(300, now).session(3)]).await;
    until("the newest visit", async || get(&gateway, "/v1/live/tail").await["tail"][0]["oid"] == "300").await;
    assert_eq!(get(&gateway, "/v1/live/tail").await["tail"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn an_erasure_and_a_kick_end_all_sessions_of_their_user() {
    let gateway = TestGateway::with(&LASTING);
    for mid in [MID, 43, 44] {
        let mut client = gateway.connect(mid).await;
        let now = client.now();
        client.watch([beat(100, now)]).await;
        client.watch([beat(200, now).session(2)]).await;
    }
    wait_for_counts(&gateway, 100, 3, 3).await;
    assert_eq!(gateway.control().post("/v1/erase", &json!({"mid": "42"})).await.status, 204);
    wait_for_counts(&gateway, 100, 2, 2).await;
    assert_eq!(gateway.control().post("/v1/kick", &json!({"mid": "43"})).await.status, 204);
    wait_for_counts(&gateway, 200, 1, 1).await;
    let live = get(&gateway, "/v1/live").await;
    assert_eq!((&live["users"], &live["sessions"]), (&json!(1), &json!(2)));
}

#[tokio::test]
async fn unrecorded_beats_are_not_live_and_a_delete_ends_no_session() {
    let gateway = TestGateway::with(&LASTING);
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    client.watch([beat(100, now)]).await;
    wait_for_counts(&gateway, 100, 1, 1).await;
    assert_eq!(gateway.http(MID).delete("/v1/history/1/100").await.status, 204);
    assert_eq!(gateway.http(43).put("/v1/recording", &json!({"paused": true})).await.status, 200);
    let mut unrecorded = gateway.connect(43).await;
    let unrecorded_beat = beat(200, unrecorded.now());
    assert_eq!(reasons(&unrecorded.beats([unrecorded_beat]).await), [(0, "not_recording")]);
    let mut other = gateway.connect(44).await;
    let now = other.now();
    other.watch([beat(300, now)]).await;
    wait_for_counts(&gateway, 300, 1, 1).await;
    assert_eq!(get(&gateway, "/v1/live/1/100").await["sessions"], 1);
    assert_eq!(get(&gateway, "/v1/live/1/200").await["sessions"], 0);
}

#[tokio::test]
async fn the_top_is_ordered_by_sessions_then_kind_then_oid() {
    let gateway = TestGateway::with(&LASTING);
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    for (session, (kind, oid)) in
        [(2, 7), (1, 300), (1, 4), (1, 4), (1, 300), (3, 9), (3, 9), (3, 9)].iter().enumerate()
    {
        client.watch([beat(*oid, now + session as u64).kind(*kind).session(session as u64 + 1)]).await;
    }
    let ranked = |kind: u16, oid: &str, sessions: u32| json!({"kind": kind, "oid": oid, "sessions": sessions});
    let all = [ranked(3, "9", 3), ranked(1, "4", 2), ranked(1, "300", 2), ranked(2, "7", 1)];
    wait_for(&gateway, "/v1/live/top", json!({"top": all, "error": 0})).await;
    wait_for(&gateway, "/v1/live/top?limit=2&by=now", json!({"top": all[..2], "error": 0})).await;
    let rising = get(&gateway, "/v1/live/top?by=rising").await;
    assert_eq!(rising["top"].as_array().map(Vec::len), Some(4), "all are new: {rising}");
    let tail = get(&gateway, "/v1/live/tail?limit=2").await;
    let visit = |at: u64| json!({"at": now + at, "kind": 3, "oid": "9"});
    assert_eq!(tail, json!({"tail": [visit(7), visit(6)]}));
}

#[tokio::test]
async fn the_series_moves_with_the_sessions() {
    let gateway = TestGateway::with(&LASTING);
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    client.watch([beat(100, now)]).await;
    until("a session in the series", async || {
        let series = get(&gateway, "/v1/live/series").await;
        let numbers = |name: &str| series[name].as_array().expect("numbers").clone();
        assert_eq!((numbers("seconds").len(), numbers("minutes").len()), (60, 60));
        numbers("seconds")[59] == 1 && numbers("seconds")[0] == 0
    })
    .await;
}

#[tokio::test]
async fn queries_and_paths_are_strict() {
    let gateway = TestGateway::start();
    for path in [
        "/v1/live?x=1",
        "/v1/live/1/100?limit=1",
        "/v1/live/65536/1",
        "/v1/live/1/x",
        "/v1/live/top?limit=0",
        "/v1/live/top?limits=1",
        "/v1/live/top?by=then",
        "/v1/live/top?limit=1&limit=2",
        "/v1/live/tail?limit=-1",
        "/v1/live/tail?by=now",
        "/v1/live/series?limit=1",
        "/v1/live/shares?by=os",
        "/v1/live/stream?since=1",
    ] {
        gateway.control().get(path).await.problem(400, "invalid");
    }
    for path in ["/v1/live/", "/v1/live/1", "/v1/live/1/2/3", "/v1/live/nothing"] {
        gateway.control().get(path).await.problem(404, "not_found");
    }
    for path in ["/v1/live", "/v1/live/1/100", "/v1/live/top", "/v1/live/stream"] {
        gateway.control().post(path, &json!({})).await.problem(405, "method");
        assert_eq!(gateway.admin().get(path).await.status, 404, "{path}");
        assert_eq!(gateway.http(MID).get(path).await.status, 404, "{path}");
    }
    assert_eq!(gateway.control().get("/v1/live/top?limit=100000").await.status, 200, "it is clamped");
}
