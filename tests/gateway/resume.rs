//! Progress, finished and resume, computed from the raw position at each read.

use serde_json::{Value, json};

use crate::support::{Beat, MID, TestGateway, beat};

async fn read(gateway: &TestGateway, one: Beat) -> Value {
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    let one = one.with("at", at);
    let (kind, oid) = (one.json()["kind"].clone(), one.json()["oid"].clone());
    client.watch([one]).await;
    let mut result = client.call(json!({"get": {"items": [{"kind": kind, "oid": oid}]}})).await;
    result["records"][0].take()
}

fn of(oid: u64, pos: u64, dur: u64) -> Beat {
    beat(oid, 0).pos(pos).dur(dur)
}

#[tokio::test]
async fn a_position_is_resumed_between_5_and_90_percent() {
    let gateway = TestGateway::start();
    for (oid, pos, resume, finished) in [
        (1, 0, 0, false),
        (2, 4_999, 0, false),
        (3, 5_000, 5_000, false),
        (4, 50_000, 50_000, false),
        (5, 89_999, 89_999, false),
        (6, 90_000, 0, true),
        (7, 100_000, 0, true),
        (8, 130_000, 0, true),
    ] {
        let record = read(&gateway, of(oid, pos, 100_000)).await;
        let got = (&record["pos"], &record["resume"], &record["finished"]);
        assert_eq!(got, (&json!(pos), &json!(resume), &json!(finished)), "pos {pos}");
    }
}

#[tokio::test]
async fn progress_is_a_part_of_the_length_and_never_more() {
    let gateway = TestGateway::start();
    for (oid, pos, dur, progress) in
        [(1, 0, 100, 0.0), (2, 73_200, 300_000, 0.244), (3, 50, 100, 0.5), (4, 100, 100, 1.0), (5, 160, 100, 1.0)]
    {
        let record = read(&gateway, of(oid, pos, dur)).await;
        let got = record["progress"].as_f64().expect("progress");
        assert!((got - progress).abs() < 0.000_6, "{pos} of {dur}: {got}");
    }
}

#[tokio::test]
async fn rounded_progress_agrees_with_finished() {
    let gateway = TestGateway::start();
    for (oid, pos, progress, finished, resume) in [
        (1, 8_996, 0.899, false, 8_996),
        (2, 9_000, 0.9, true, 0),
        (3, 499, 0.049, false, 0),
        (4, 500, 0.05, false, 500),
    ] {
        let record = read(&gateway, of(oid, pos, 10_000)).await;
        let got = (&record["progress"], &record["finished"], &record["resume"]);
        assert_eq!(got, (&json!(progress), &json!(finished), &json!(resume)), "pos {pos}");
    }
}

#[tokio::test]
async fn an_unknown_length_has_no_progress_and_no_thresholds() {
    let gateway = TestGateway::start();
    for (oid, pos) in [(1, 1), (2, 3_600_000)] {
        let record = read(&gateway, of(oid, pos, 0)).await;
        assert_eq!(record.get("progress"), None);
        assert_eq!((&record["resume"], &record["finished"]), (&json!(pos), &json!(false)));
    }
}

#[tokio::test]
async fn an_ended_record_is_finished_at_any_position() {
    let gateway = TestGateway::start();
    for (oid, dur) in [(1, 100_000), (2, 0)] {
        let record = read(&gateway, of(oid, 50_000, dur).state("ended")).await;
        assert_eq!((&record["finished"], &record["resume"]), (&json!(true), &json!(0)));
    }
}

#[tokio::test]
async fn live_and_articles_have_no_thresholds_and_are_finished_when_they_ended() {
    let gateway = TestGateway::start();
    for kind in [2, 3] {
        for (oid, pos) in [(1, 1_000), (2, 95_000)] {
            let record = read(&gateway, of(oid, pos, 100_000).kind(kind)).await;
            let got = (&record["resume"], &record["finished"]);
            assert_eq!(got, (&json!(pos), &json!(false)), "kind {kind}, pos {pos}");
            let record = read(&gateway, of(oid, pos, 100_000).kind(kind).state("ended")).await;
            let got = (&record["resume"], &record["finished"]);
            assert_eq!(got, (&json!(0), &json!(true)), "kind {kind}, ended at {pos}");
        }
    }
}

#[tokio::test]
async fn a_long_film_is_resumed_after_three_minutes() {
    let gateway = TestGateway::start();
    let (hour, minute) = (3_600_000, 60_000);
    for (oid, pos, dur, resume) in [
        (1, 3 * minute - 1, hour, 0),
        (2, 3 * minute, hour, 3 * minute),
        (3, 3 * minute - 1, 2 * hour, 0),
        (4, 3 * minute, 2 * hour, 3 * minute),
        (5, 6 * minute - 1, 2 * hour, 6 * minute - 1),
    ] {
        let record = read(&gateway, of(oid, pos, dur)).await;
        assert_eq!((&record["resume"], &record["finished"]), (&json!(resume), &json!(false)), "{pos} of {dur}");
    }
}

#[tokio::test]
async fn thresholds_are_set_for_each_kind_in_shares_and_seconds() {
    let overrides = r#"[
        { kind = 4, resume_below = 0.5, resume_below_max = "10s" },
        { kind = 5, finished_at = 0.5, finished_remaining_max = "20s" },
        { kind = 6, thresholds = false },
    ]"#;
    let gateway = TestGateway::with(&[
        ("reading.finished_at", "0.8"),
        ("reading.resume_below_max", "0s"),
        ("reading.overrides", overrides),
    ]);
    for (oid, kind, pos, resume, finished) in [
        (1, 1, 799_999, 799_999, false),
        (2, 1, 800_000, 0, true),
        (3, 1, 49_999, 0, false),
        (4, 4, 9_999, 0, false),
        (5, 4, 10_000, 10_000, false),
        (6, 4, 800_000, 0, true),
        (7, 5, 979_999, 979_999, false),
        (8, 5, 980_000, 0, true),
        (9, 5, 49_999, 0, false),
        (10, 6, 1, 1, false),
        (11, 6, 999_999, 999_999, false),
        // No longer listed, so like any other kind.
        (12, 2, 800_000, 0, true),
    ] {
        let record = read(&gateway, of(oid, pos, 1_000_000).kind(kind)).await;
        let got = (&record["resume"], &record["finished"]);
        assert_eq!(got, (&json!(resume), &json!(finished)), "kind {kind}, pos {pos}");
    }
}

#[tokio::test]
async fn configured_thresholds_apply_when_records_are_read() {
    let gateway = TestGateway::with(&[("reading.resume_below", "0.2"), ("reading.finished_at", "0.5")]);
    for (oid, pos, resume, finished) in [(1, 19_000, 0, false), (2, 30_000, 30_000, false), (3, 50_000, 0, true)] {
        let record = read(&gateway, of(oid, pos, 100_000)).await;
        let got = (&record["pos"], &record["resume"], &record["finished"]);
        assert_eq!(got, (&json!(pos), &json!(resume), &json!(finished)), "pos {pos}");
    }
}
