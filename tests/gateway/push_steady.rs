//! Steady changes: the latest, after at most the interval; one slot per content.

use std::time::{Duration, Instant};

use crate::support::{MID, TestGateway, beat};

const INTERVAL: Duration = Duration::from_millis(400);

fn gateway() -> TestGateway {
    TestGateway::with(&[("push.steady_interval", "400ms")])
}

#[tokio::test]
async fn the_latest_steady_record_is_pushed_within_the_interval() {
    let gateway = gateway();
    let mut origin = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let at = origin.now() - 1_000;
    origin.watch([beat(100, at)]).await;
    other.pushed_record().await;

    let started = Instant::now();
    for step in 1..=10 {
        origin.watch([beat(100, at + step).pos(step)]).await;
    }
    let mut pushes = 0;
    while other.pushed_record().await["pos"] != 10 {
        pushes += 1;
    }
    // Half of the interval that holds without the setting.
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    let intervals = started.elapsed().as_millis() / INTERVAL.as_millis();
    assert!(pushes <= intervals, "one slot per content: {pushes} besides the latest in {intervals} intervals");
    origin.still_serves().await;
    assert!(origin.pushes_kept().is_empty());
}

#[tokio::test]
async fn steady_records_of_different_contents_are_all_pushed() {
    let gateway = gateway();
    let mut origin = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let at = origin.now() - 1_000;
    origin.watch((0..5).map(|oid| beat(oid, at))).await;
    for _ in 0..5 {
        other.pushed_record().await;
    }
    origin.watch((0..5).map(|oid| beat(oid, at + 1).pos(77))).await;
    let mut oids = Vec::new();
    for _ in 0..5 {
        let record = other.pushed_record().await;
        assert_eq!(record["pos"], 77);
        oids.push(record["oid"].as_str().expect("an oid").to_owned());
    }
    oids.sort_unstable();
    assert_eq!(oids, ["0", "1", "2", "3", "4"]);
}

#[tokio::test]
async fn a_change_of_state_replaces_the_waiting_steady_record() {
    let gateway = gateway();
    let mut origin = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let at = origin.now() - 1_000;
    origin.watch([beat(100, at)]).await;
    other.pushed_record().await;
    origin.watch([beat(100, at + 1).pos(1)]).await;
    origin.watch([beat(100, at + 2).pos(2).state("paused")]).await;
    let mut last = other.pushed_record().await;
    while last["pos"] != 2 {
        last = other.pushed_record().await;
    }
    // A steady push of another content outlives what waited for the first.
    origin.watch([beat(101, at)]).await;
    origin.watch([beat(101, at + 1).pos(3)]).await;
    while other.pushed_record().await["pos"] != 3 {}
    let stale = other.pushes_kept();
    assert!(stale.iter().all(|push| push["record"]["oid"] != "100"), "{stale:?}");
}

#[tokio::test]
async fn a_waiting_record_that_was_deleted_is_not_pushed() {
    let gateway = gateway();
    let mut origin = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let at = origin.now() - 1_000;
    origin.watch([beat(100, at), beat(101, at)]).await;
    for _ in 0..2 {
        other.pushed_record().await;
    }
    origin.watch([beat(100, at + 1), beat(101, at + 1)]).await;
    origin.delete(100, at + 1).await;
    let forgotten = |push: &serde_json::Value| push["deleted"].is_array();
    while !forgotten(&other.push().await) {}
    // The steady change of the other content, due at the same time, comes; or came before the delete.
    origin.watch([beat(102, at)]).await;
    origin.watch([beat(102, at + 1).pos(7)]).await;
    loop {
        let record = other.pushed_record().await;
        assert_ne!(record["oid"], "100", "pushed after its delete");
        if record["pos"] == 7 {
            break;
        }
    }
}
