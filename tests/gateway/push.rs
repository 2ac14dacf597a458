//! Pushes to the other devices of a user, and none to the origin.

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, beat, beats};

/// Steady changes wait longer than any test: what comes, comes at once.
fn only_at_once() -> TestGateway {
    TestGateway::with(&[("push.steady_interval", "1h")])
}

/// A round trip after which everything pushed before has been read.
async fn pushed_nothing(client: &mut TestClient) {
    client.still_serves().await;
    assert!(client.pushes_kept().is_empty(), "{:?}", client.pushes_kept());
}

#[tokio::test]
async fn a_new_record_is_pushed_at_once_to_every_other_device() {
    let gateway = only_at_once();
    let mut origin = gateway.connect(MID).await;
    let mut others = [gateway.connect(MID).await, gateway.connect(MID).await, gateway.connect(MID).await];
    let at = origin.now();
    origin.call(json!({"hello": {"device": "tv-3f"}})).await;
    origin.watch([beat(100, at).pos(73_200).dur(300_000)]).await;
    let record = origin.record(100).await;
    assert_eq!(record["device"], "tv-3f");
    for other in &mut others {
        assert_eq!(other.push().await, json!({ "record": record }), "as a read answers it");
    }
    pushed_nothing(&mut origin).await;
}

#[tokio::test]
async fn a_push_has_the_length_that_its_beat_did_not_know() {
    let gateway = only_at_once();
    let mut origin = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let at = origin.now() - 1_000;
    origin.watch([beat(100, at).dur(300_000)]).await;
    other.push().await;
    origin.watch([beat(100, at + 1).pos(20_000).state("paused")]).await;
    let record = origin.record(100).await;
    assert_eq!((&record["dur"], other.push().await), (&json!(300_000), json!({ "record": record })));
}

#[tokio::test]
async fn a_change_of_state_or_session_is_pushed_at_once() {
    let gateway = only_at_once();
    let mut origin = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let at = origin.now() - 1_000;
    origin.watch([beat(100, at)]).await;
    other.push().await;
    for (step, state, session) in [(1, "paused", 1), (2, "playing", 1), (3, "playing", 2), (4, "ended", 2)] {
        origin.watch([beat(100, at + step).state(state).session(session)]).await;
        let record = other.pushed_record().await;
        assert_eq!((&record["at"], &record["state"]), (&json!(at + step), &json!(state)));
        assert_eq!(record["session"], session.to_string());
    }
    pushed_nothing(&mut origin).await;
}

#[tokio::test]
async fn a_steady_change_is_not_pushed_at_once() {
    let gateway = only_at_once();
    let mut origin = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let at = origin.now() - 1_000;
    origin.watch([beat(100, at)]).await;
    other.push().await;
    for step in 1..10 {
        origin.watch([beat(100, at + step).pos(step)]).await;
    }
    // A push that does come, after those that must not.
    origin.watch([beat(101, at)]).await;
    assert_eq!(other.pushed_record().await["oid"], "101");
    pushed_nothing(&mut other).await;
}

#[tokio::test]
async fn beats_that_change_nothing_are_not_pushed() {
    let gateway = only_at_once();
    let mut origin = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let at = origin.now();
    origin.watch([beat(100, at)]).await;
    other.push().await;
    origin.watch([beat(100, at).state("paused")]).await;
    origin.beats([beat(100, at - 1).session(7)]).await;
    origin.beats([beat(102, at).with("rate", 17)]).await;
    origin.watch([beat(101, at)]).await;
    assert_eq!(other.pushed_record().await["oid"], "101");
    pushed_nothing(&mut other).await;
}

#[tokio::test]
async fn deletes_and_clears_are_pushed() {
    let gateway = only_at_once();
    let mut origin = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let at = origin.now() - 1_000;
    origin.watch([beat(100, at), beat(101, at)]).await;
    for _ in 0..2 {
        other.pushed_record().await;
    }
    origin.delete(100, at + 1).await;
    let deleted = json!({"deleted": [{"kind": 1, "oid": "100"}], "at": at + 1});
    assert_eq!(other.push().await, deleted);
    origin.clear(at + 2).await;
    assert_eq!(other.push().await, json!({"cleared": true, "at": at + 2}));
    pushed_nothing(&mut origin).await;
}

#[tokio::test]
async fn a_switch_of_recording_is_pushed() {
    let gateway = only_at_once();
    let mut origin = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let at = origin.now();
    origin.pause_recording(true, at).await;
    assert_eq!(other.push().await, json!({"recording": {"paused": true}}));
    origin.pause_recording(false, at + 1).await;
    assert_eq!(other.push().await, json!({"recording": {"paused": false}}));
    pushed_nothing(&mut origin).await;
}

#[tokio::test]
async fn another_user_is_told_nothing() {
    let gateway = only_at_once();
    let mut origin = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let mut stranger = gateway.connect(43).await;
    let at = origin.now();
    origin.watch([beat(100, at)]).await;
    origin.delete(100, at).await;
    origin.clear(at).await;
    origin.pause_recording(true, at).await;
    for _ in 0..4 {
        other.push().await;
    }
    pushed_nothing(&mut stranger).await;
}

#[tokio::test]
async fn a_beat_over_http_is_pushed_to_all_but_the_connection_it_names() {
    let gateway = only_at_once();
    let mut origin = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let at = origin.now();
    let http = gateway.http(MID);
    let body = json!({"items": [beat(100, at).json()], "connection": origin.connection()});
    http.post("/v1/beats", &body).await.json();
    assert_eq!(other.pushed_record().await["oid"], "100");
    pushed_nothing(&mut origin).await;

    http.post("/v1/beats", &json!({"items": [beat(101, at).json()]})).await.json();
    for client in [&mut origin, &mut other] {
        assert_eq!(client.pushed_record().await["oid"], "101");
    }
}

#[tokio::test]
async fn forgetting_over_http_is_pushed_to_all_but_the_connection_it_names() {
    let gateway = only_at_once();
    let mut origin = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let at = origin.now();
    origin.watch([beat(100, at)]).await;
    other.push().await;
    let http = gateway.http(MID);
    let named = format!("at={at}&connection={}", origin.connection());
    assert_eq!(http.delete(&format!("/v1/history/1/100?{named}")).await.status, 204);
    assert_eq!(http.delete(&format!("/v1/history?{named}")).await.status, 204);
    let switch = json!({"paused": true, "at": at, "connection": origin.connection()});
    http.put("/v1/recording", &switch).await.json();
    let pushes: [Value; 3] = [other.push().await, other.push().await, other.push().await];
    assert_eq!(
        pushes,
        [
            json!({"deleted": [{"kind": 1, "oid": "100"}], "at": at}),
            json!({"cleared": true, "at": at}),
            json!({"recording": {"paused": true}}),
        ]
    );
    pushed_nothing(&mut origin).await;
}

#[tokio::test]
async fn a_device_that_left_is_told_nothing_and_disturbs_no_other() {
    let gateway = only_at_once();
    let mut origin = gateway.connect(MID).await;
    drop(gateway.connect(MID).await);
    let mut other = gateway.connect(MID).await;
    let at = origin.now();
    origin.watch([beat(100, at)]).await;
    other.pushed_record().await;
}

/// Two devices on whatever threads they landed, and one that looks on.
#[tokio::test]
async fn pushed_records_of_a_content_never_go_back() {
    let gateway = only_at_once();
    let (mut one, mut two) = (gateway.connect(MID).await, gateway.connect(MID).await);
    let mut other = gateway.connect(MID).await;
    let at = other.now() - 10_000;
    for step in 0..90 {
        let state = ["playing", "paused"][step as usize % 2];
        // Not awaited: both are on their way at once.
        one.send(beats([beat(100, at + step * 2).state(state).session(1)])).await;
        two.send(beats([beat(100, at + step * 2 + 1).state(state).session(2)])).await;
    }
    one.acked(90).await;
    two.acked(90).await;
    one.watch([beat(100, at + 200).session(3)]).await;
    let mut last = 0;
    while last < at + 200 {
        let told = other.pushed_record().await["at"].as_u64().expect("at");
        assert!(told > last, "{told} after {last}");
        last = told;
    }
}

#[tokio::test]
async fn a_record_deleted_by_another_device_is_not_pushed_afterwards() {
    let gateway = only_at_once();
    let (mut one, mut two) = (gateway.connect(MID).await, gateway.connect(MID).await);
    let mut other = gateway.connect(MID).await;
    let at = other.now() - 10_000;
    for step in 0..40 {
        let seq = one.send(beats([beat(100, at + step)])).await;
        let items = json!([{"kind": 1, "oid": "100"}]);
        two.send(json!({"delete": {"items": items, "at": at + step}})).await;
        one.acked(seq).await;
    }
    two.still_serves().await;
    one.watch([beat(101, at)]).await;
    let mut deleted = 0;
    loop {
        let push = other.push().await;
        deleted = deleted.max(push["at"].as_u64().unwrap_or(0));
        match push["record"]["at"].as_u64() {
            Some(_) if push["record"]["oid"] == "101" => break,
            Some(at) => assert!(at > deleted, "{at} pushed after its delete at {deleted}"),
            None => {}
        }
    }
}

#[tokio::test]
async fn a_switch_that_does_not_change_the_state_is_not_pushed() {
    let gateway = only_at_once();
    let mut origin = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let http = gateway.http(MID);
    let at = origin.now() - 60_000;
    origin.pause_recording(false, at).await;
    pushed_nothing(&mut other).await;
    origin.pause_recording(true, at + 10).await;
    assert_eq!(other.push().await, json!({"recording": {"paused": true}}));
    origin.pause_recording(true, at + 20).await;
    origin.pause_recording(false, at + 5).await;
    assert_eq!(http.put("/v1/recording", &json!({"paused": true})).await.json()["paused"], true);
    pushed_nothing(&mut other).await;
    pushed_nothing(&mut origin).await;
    assert_eq!(http.put("/v1/recording", &json!({"paused": false})).await.json()["paused"], false);
    assert_eq!(other.push().await, json!({"recording": {"paused": false}}));
}
