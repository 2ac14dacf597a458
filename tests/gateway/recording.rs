//! Pausing the recording: intervals closed at both ends, in whatever order the switches come.

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, beat, reasons};

/// Whether a beat of a content of its own, true at `at`, is recorded.
async fn recorded(client: &mut TestClient, at: u64) -> bool {
    let rejected = client.beats([beat(at, at)]).await;
    match reasons(&rejected).as_slice() {
        [] => true,
        [(0, "not_recording")] => false,
        other => panic!("{other:?}"),
    }
}

async fn states(client: &mut TestClient, times: &[u64]) -> Vec<bool> {
    let mut states = Vec::new();
    for at in times {
        states.push(recorded(client, *at).await);
    }
    states
}

#[tokio::test]
async fn a_switch_is_answered_with_the_state_after_it() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    let result = client.call(json!({"recording": {"paused": true, "at": at}})).await;
    assert_eq!(result, json!({"seq": 1, "recording": {"paused": true}}));
    let result = client.call(json!({"recording": {"paused": false, "at": at + 1}})).await;
    assert_eq!(result, json!({"seq": 2, "recording": {"paused": false}}));
}

#[tokio::test]
async fn a_paused_interval_is_closed_at_both_ends() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 60_000;
    client.pause_recording(true, at).await;
    client.pause_recording(false, at + 10).await;
    let times = [at - 1, at, at + 5, at + 10, at + 11];
    assert_eq!(states(&mut client, &times).await, [true, false, false, false, true]);
}

#[tokio::test]
async fn switches_may_arrive_in_any_order() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 60_000;
    assert_eq!(client.pause_recording(false, at + 10).await, json!({"paused": false}));
    assert_eq!(client.pause_recording(true, at).await, json!({"paused": false}), "the newest says so");
    let times = [at - 1, at, at + 5, at + 10, at + 11];
    assert_eq!(states(&mut client, &times).await, [true, false, false, false, true]);
}

#[tokio::test]
async fn beats_played_before_an_open_pause_are_recorded_during_it() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 60_000;
    client.pause_recording(true, at).await;
    let now = client.now();
    assert_eq!(states(&mut client, &[at - 1, at, at + 30_000, now]).await, [true, false, false, false]);
}

#[tokio::test]
async fn a_pause_erases_no_record() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 60_000;
    client.watch([beat(100, at + 5)]).await;
    client.pause_recording(true, at).await;
    assert_eq!(client.position(100).await, Some(10_000));
    client.watch([beat(101, at - 5)]).await;
    let rejected = client.beats([beat(100, at + 5)]).await;
    assert_eq!(reasons(&rejected), [(0, "not_recording")], "forgetting is asked before the record");
    assert_eq!(client.position(100).await, Some(10_000));
}

#[tokio::test]
async fn a_repeated_switch_changes_nothing() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 60_000;
    for _ in 0..2 {
        assert_eq!(client.pause_recording(true, at).await, json!({"paused": true}));
    }
    client.pause_recording(true, at + 5).await;
    for _ in 0..2 {
        assert_eq!(client.pause_recording(false, at + 10).await, json!({"paused": false}));
    }
    let times = [at - 1, at, at + 10, at + 11];
    assert_eq!(states(&mut client, &times).await, [true, false, false, true]);
}

#[tokio::test]
async fn several_pauses_are_kept_apart() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 60_000;
    for (paused, offset) in [(true, 100), (false, 110), (true, 0), (false, 10)] {
        client.pause_recording(paused, at + offset).await;
    }
    let times = [at, at + 10, at + 11, at + 99, at + 100, at + 110, at + 111];
    let expected = [false, false, true, true, false, false, true];
    assert_eq!(states(&mut client, &times).await, expected);
}

/// The two oldest intervals merge: more is refused than was asked for, never less.
#[tokio::test]
async fn beyond_128_switches_no_pause_is_lost() {
    let gateway = TestGateway::with(&[("limits.burst", "2000")]);
    let mut client = gateway.connect(MID).await;
    let start = client.now() - 600_000;
    let pauses = 80;
    for index in 0..pauses {
        client.pause_recording(true, start + index * 1_000).await;
        client.pause_recording(false, start + index * 1_000 + 100).await;
    }
    for index in 0..pauses {
        let inside = start + index * 1_000 + 50;
        assert!(!recorded(&mut client, inside).await, "pause {index} was lost");
    }
    for index in 20..pauses {
        let between = start + index * 1_000 + 500;
        assert!(recorded(&mut client, between).await, "what follows pause {index} is refused");
    }
    assert!(recorded(&mut client, start - 1).await);
}

#[tokio::test]
async fn a_pause_holds_for_every_connection_of_the_user() {
    let gateway = TestGateway::start();
    let mut one = gateway.connect(MID).await;
    let mut two = gateway.connect(MID).await;
    let mut other = gateway.connect(43).await;
    let at = one.now() - 1_000;
    one.pause_recording(true, at).await;
    assert!(!recorded(&mut two, at + 500).await);
    assert!(recorded(&mut other, at + 500).await);
}

#[tokio::test]
async fn deletes_and_clears_work_during_a_pause() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch([beat(100, at), beat(101, at)]).await;
    client.pause_recording(true, at).await;
    client.delete(100, at).await;
    assert_eq!(client.record(100).await, Value::Null);
    client.clear(at).await;
    assert_eq!(client.listed(json!({})).await, [0; 0]);
}

/// What each of the beats would be answered alone: the newest must not speak for those before the pause.
#[tokio::test]
async fn a_pause_between_the_beats_of_one_frame_refuses_the_later_ones_only() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    client.pause_recording(true, now - 20_000).await;
    let beats = [30_000, 25_000, 15_000, 10_000].map(|ago| beat(100, now - ago).pos(ago));
    let rejected = client.beats(beats).await;
    assert_eq!(reasons(&rejected), [(2, "not_recording"), (3, "not_recording")]);
    assert_eq!(client.position(100).await, Some(25_000));
}

#[tokio::test]
async fn a_short_pause_between_the_beats_of_one_frame_refuses_none_after_it() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    client.pause_recording(true, now - 20_000).await;
    client.pause_recording(false, now - 18_000).await;
    client.watch([beat(100, now - 25_000), beat(100, now - 15_000).pos(15_000)]).await;
    assert_eq!(client.position(100).await, Some(15_000));
}
