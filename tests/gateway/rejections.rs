//! Every reason a beat is rejected for, and which one is told when several hold.

use serde_json::Value;

use crate::support::{Beat, MID, TestClient, TestGateway, beat, beats, reasons};

/// Older than the 90 days that records are kept.
const EXPIRED: u64 = 91 * 24 * 3_600_000;

async fn reason(client: &mut TestClient, one: Beat) -> String {
    let rejected = client.beats([one]).await;
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert_eq!(rejected[0]["index"], 0);
    assert_eq!(rejected[0]["seq"], client.last_seq());
    rejected[0]["reason"].as_str().expect("a reason").to_owned()
}

#[tokio::test]
async fn a_rate_outside_0_to_16_is_invalid() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    for rate in [16.001, 17.0, 1e300, -0.001, -1.0] {
        assert_eq!(reason(&mut client, beat(100, at).with("rate", rate)).await, "invalid", "{rate}");
    }
    for rate in [0.0, 0.25, 2.0, 16.0] {
        client.watch([beat(100, at).with("rate", rate)]).await;
    }
}

#[tokio::test]
async fn a_beat_more_than_5_s_ahead_is_clock_and_the_ack_tells_the_time() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let ahead = client.now() + 10_000;
    let seq = client.send(beats([beat(100, ahead)])).await;
    let acked = client.acked(seq).await;
    assert_eq!(reasons(&acked.rejected), [(0, "clock")]);
    let told = acked.last["now"].as_u64().expect("ack.now");
    assert!(client.now().abs_diff(told) < 2_000, "{told}");
    assert_eq!(client.record(100).await, Value::Null);
}

#[tokio::test]
async fn a_beat_of_the_far_future_is_clock() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = 9_007_199_254_740_991;
    assert_eq!(reason(&mut client, beat(100, at)).await, "clock");
    client.still_serves().await;
}

#[tokio::test]
async fn a_beat_older_than_the_retention_is_expired() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    for at in [0, 1, now - EXPIRED] {
        assert_eq!(reason(&mut client, beat(100, at)).await, "expired", "{at}");
    }
    client.watch([beat(100, now - 89 * 24 * 3_600_000)]).await;
}

#[tokio::test]
async fn a_failed_or_false_start_does_not_erase_a_bookmark() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch([beat(100, at).pos(50_000)]).await;
    for state in ["playing", "paused", "seeked", "ended"] {
        let failed = beat(100, at + 10).state(state).watched(0).pos(0).session(2);
        assert_eq!(reason(&mut client, failed).await, "not_started", "{state}");
    }
    for state in ["paused", "seeked", "ended"] {
        let silent = beat(100, at + 10).state(state).without("watched").pos(0).session(2);
        assert_eq!(reason(&mut client, silent).await, "not_started", "{state}");
    }
    assert_eq!(client.position(100).await, Some(50_000));
    // A player that does not count what it plays says so by playing.
    client.watch([beat(100, at + 10).without("watched").pos(0).session(2)]).await;
    client.watch([beat(100, at + 20).with("watched", Value::Null).pos(0).session(2)]).await;
}

#[tokio::test]
async fn a_beat_inside_a_pause_of_recording_is_not_recording() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.pause_recording(true, at - 1_000).await;
    assert_eq!(reason(&mut client, beat(100, at)).await, "not_recording");
    assert_eq!(client.record(100).await, Value::Null);
}

#[tokio::test]
async fn a_rejection_has_the_first_reason_that_applies() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    client.watch([beat(100, now).pos(1_000)]).await;
    client.pause_recording(true, now - 60_000).await;
    client.pause_recording(false, now - 30_000).await;

    let (ahead, old, paused) = (now + 60_000, now - EXPIRED, now - 45_000);
    let idle = |at| beat(100, at).state("paused").watched(0);
    for (expected, one) in [
        ("invalid", idle(ahead).with("rate", 17)),
        ("invalid", idle(old).with("rate", 17)),
        ("invalid", idle(paused).with("rate", 17)),
        ("clock", idle(ahead)),
        ("expired", idle(old)),
        ("not_started", idle(paused)),
        ("not_recording", beat(100, paused)),
        ("superseded", beat(100, now - 20_000)),
    ] {
        let text = one.json().to_string();
        assert_eq!(reason(&mut client, one).await, expected, "{text}");
    }
}

#[tokio::test]
async fn only_superseded_brings_the_record() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    client.watch([beat(100, now)]).await;
    let sent = [
        beat(100, now).with("rate", 17),
        beat(100, now + 60_000),
        beat(100, 1),
        beat(100, now).state("paused").watched(0),
    ];
    for rejected in client.beats(sent).await {
        assert_eq!(rejected.get("record"), None, "{rejected}");
    }
    let rejected = client.beats([beat(100, now - 1)]).await;
    assert_eq!(rejected[0]["record"]["at"], now);
}

#[tokio::test]
async fn a_rejected_beat_leaves_the_others_of_its_frame() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    client.watch([beat(104, now)]).await;
    let rejected = client
        .beats([
            beat(100, now),
            beat(101, now).with("rate", 17),
            beat(102, now),
            beat(103, now + 60_000),
            beat(104, now - 1),
            beat(105, now),
        ])
        .await;
    let mut told = reasons(&rejected);
    told.sort_unstable();
    assert_eq!(told, [(1, "invalid"), (3, "clock"), (4, "superseded")]);
    let mut kept = client.listed(serde_json::json!({})).await;
    kept.sort_unstable();
    assert_eq!(kept, [100, 102, 104, 105]);
}
