//! A record is the maximum by (at, session) of what was accepted, whatever the order and repetition.

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, beat, beats, reasons};

#[tokio::test]
async fn the_first_beat_is_the_record() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at).pos(73_200).dur(300_000).session(8_311_207)]).await;
    let record = client.record(100).await;
    let expected = json!({
        "kind": 1, "oid": "100", "pos": 73_200, "dur": 300_000, "state": "playing", "session": "8311207",
        "watched": 5_000, "at": at, "progress": 0.244, "finished": false, "resume": 73_200,
    });
    for (name, value) in expected.as_object().expect("fields") {
        assert_eq!(&record[name], value, "{name}");
    }
}

#[tokio::test]
async fn a_newer_beat_replaces_the_record_but_for_a_length_that_it_does_not_know() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at).pos(50_000).dur(300_000)]).await;
    client.watch([beat(100, at + 1).pos(20_000).state("paused").session(2).watched(7_000)]).await;
    let record = client.record(100).await;
    assert_eq!(record["pos"], 20_000, "a position may go back");
    assert_eq!(record["state"], "paused");
    assert_eq!(record["session"], "2");
    assert_eq!(record["watched"], 7_000);
    assert_eq!((&record["dur"], &record["progress"]), (&json!(300_000), &json!(0.066)));
    client.watch([beat(100, at + 2).pos(20_000).dur(200_000)]).await;
    assert_eq!(client.record(100).await["dur"], 200_000, "a newer length counts");
}

#[tokio::test]
async fn a_length_that_the_position_has_passed_by_a_minute_is_unknown() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_500_000;
    // A feed says 20 minutes; the file has 45.
    let short = |pos: u64| beat(100, at + pos).pos(pos).dur(1_200_000);
    client.watch([short(1_260_000)]).await;
    let record = client.record(100).await;
    assert_eq!(
        (&record["pos"], &record["dur"], &record["finished"]),
        (&json!(1_260_000), &json!(1_200_000), &json!(true))
    );
    client.watch([short(1_260_001)]).await;
    let record = client.record(100).await;
    assert_eq!((&record["pos"], &record["dur"], &record["resume"]), (&json!(1_260_001), &json!(0), &json!(1_260_001)));
    assert_eq!((record.get("progress"), &record["finished"]), (None, &json!(false)));
    // Another device knows it.
    client.watch([beat(100, at + 1_300_000).pos(1_300_000).dur(2_700_000).session(2)]).await;
    client.watch([short(1_400_000)]).await;
    let record = client.record(100).await;
    assert_eq!(
        (&record["pos"], &record["dur"], &record["finished"]),
        (&json!(1_400_000), &json!(2_700_000), &json!(false))
    );
}

#[tokio::test]
async fn a_beat_without_a_length_keeps_the_one_that_is_known() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    let known = beat(100, at).pos(10_000).dur(300_000);
    // In one frame they share a slot; in two the record is stored between them.
    client.watch([known.clone(), beat(100, at + 1).pos(11_000)]).await;
    assert_eq!(client.record(100).await["dur"], 300_000);
    client.watch([beat(100, at + 2).pos(12_000).dur(0).state("paused")]).await;
    let record = client.record(100).await;
    assert_eq!((&record["pos"], &record["dur"]), (&json!(12_000), &json!(300_000)));
    // What is forgotten is forgotten whole.
    client.call(json!({"delete": {"items": [{"kind": 1, "oid": "100"}], "at": at + 2}})).await;
    client.watch([beat(100, at + 3).pos(13_000)]).await;
    assert_eq!(client.record(100).await["dur"], 0);
}

#[tokio::test]
async fn an_older_beat_is_superseded_and_gets_the_record() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at).pos(50_000)]).await;
    let rejected = client.beats([beat(100, at - 1).pos(20_000)]).await;
    assert_eq!(reasons(&rejected), [(0, "superseded")]);
    let record = client.record(100).await;
    assert_eq!(record["pos"], 50_000);
    assert_eq!(rejected[0]["record"], record);
}

#[tokio::test]
async fn a_resend_changes_nothing() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    let sent = beat(100, at).pos(50_000);
    client.watch([sent.clone()]).await;
    let record = client.record(100).await;
    client.watch([sent.clone()]).await;
    client.watch([sent.clone(), sent.clone()]).await;
    gateway.connect(MID).await.watch([sent]).await;
    assert_eq!(client.record(100).await, record);
}

#[tokio::test]
async fn equal_at_and_session_is_the_same_beat_whatever_else_it_says() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at).pos(50_000)]).await;
    let record = client.record(100).await;
    client.watch([beat(100, at).pos(99_000).state("ended").watched(9_000)]).await;
    assert_eq!(client.record(100).await, record);
}

#[tokio::test]
async fn at_the_same_time_the_greater_session_wins() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    for (oid, low, high) in [(100, 9, 10), (101, 0, 1), (102, u64::MAX - 1, u64::MAX), (103, 1 << 62, 1 << 63)] {
        client.watch([beat(oid, at).session(low)]).await;
        client.watch([beat(oid, at).session(high).pos(20_000)]).await;
        assert_eq!(client.position(oid).await, Some(20_000), "{high} is greater than {low}");
        let rejected = client.beats([beat(oid, at).session(low)]).await;
        assert_eq!(reasons(&rejected), [(0, "superseded")]);
        assert_eq!(rejected[0]["record"]["session"], high.to_string());
    }
}

#[tokio::test]
async fn a_later_time_wins_over_a_greater_session() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at).session(u64::MAX)]).await;
    client.watch([beat(100, at + 1).session(1).pos(20_000)]).await;
    assert_eq!(client.position(100).await, Some(20_000));
}

#[tokio::test]
async fn records_of_different_contents_and_kinds_are_separate() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at).pos(1_000), beat(101, at - 5).pos(2_000)]).await;
    client.watch([beat(100, at - 5).kind(3).pos(3_000)]).await;
    let items = json!([{"kind": 1, "oid": 100}, {"kind": 1, "oid": 101}, {"kind": 3, "oid": 100}]);
    let result = client.call(json!({"get": {"items": items}})).await;
    let positions: Vec<&Value> =
        result["records"].as_array().expect("records").iter().map(|record| &record["pos"]).collect();
    assert_eq!(positions, [1_000, 2_000, 3_000]);
}

/// Every order of four beats of two sessions, on two connections, ends in the same record.
#[tokio::test]
async fn any_order_on_any_connection_ends_in_the_same_record() {
    let gateway = TestGateway::start();
    let mut clients = [gateway.connect(MID).await, gateway.connect(MID).await];
    let at = clients[0].now() - 10_000;
    let sent = [(at, 1), (at + 5, 2), (at + 5, 3), (at + 3, 9)];
    for (oid, order) in (100..).zip(permutations()) {
        for (turn, index) in order.into_iter().enumerate() {
            let (at, session) = sent[index];
            let one = beat(oid, at).session(session).pos(1_000 * index as u64);
            send_acked(&mut clients[turn % 2], beats([one])).await;
        }
        let record = clients[0].record(oid).await;
        assert_eq!((&record["at"], &record["session"]), (&json!(at + 5), &json!("3")), "{order:?}");
        if oid % 15 == 0 {
            // Stays below the rate limit.
            clients = [gateway.connect(MID).await, gateway.connect(MID).await];
        }
    }
}

/// Eight devices at once, on whatever threads they landed, each with beats that the others' beat or are beaten by.
#[tokio::test]
async fn devices_that_write_at_once_end_in_the_greatest_beat() {
    let gateway = TestGateway::start();
    let at = gateway.connect(MID).await.now() - 10_000;
    let device = async |number: u64| {
        let mut client = gateway.connect(MID).await;
        let mut last = 0;
        for step in 0..40 {
            // Every device visits the same times in an order of its own.
            let at = at + (step * (2 * number + 1) + number) % 64;
            last = client.send(beats((0..10).map(|oid| beat(oid, at).session(number + 1).pos(at)))).await;
        }
        client.acked(last).await;
    };
    let devices: Vec<_> = (0..8).map(device).collect();
    futures_util::future::join_all(devices).await;

    let visited = |number: u64| (0..40).map(move |step| ((step * (2 * number + 1) + number) % 64, number + 1));
    let (greatest, session) = (0..8).flat_map(visited).max().expect("beats");
    let mut client = gateway.connect(MID).await;
    for oid in 0..10 {
        let record = client.record(oid).await;
        assert_eq!((&record["at"], &record["pos"]), (&json!(at + greatest), &json!(at + greatest)));
        assert_eq!(record["session"], session.to_string());
    }
}

async fn send_acked(client: &mut TestClient, frame: Value) {
    let seq = client.send(frame).await;
    client.acked(seq).await;
}

fn permutations() -> Vec<[usize; 4]> {
    let mut all = Vec::new();
    for code in 0..256 {
        let order = [code % 4, code / 4 % 4, code / 16 % 4, code / 64];
        if (0..4).all(|index| order.contains(&index)) {
            all.push(order);
        }
    }
    all
}

#[tokio::test]
async fn a_beat_up_to_5_s_ahead_is_taken() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() + 3_000;
    client.watch([beat(100, at)]).await;
    assert_eq!(client.record(100).await["at"], at);
}
