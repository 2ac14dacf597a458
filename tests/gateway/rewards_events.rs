//! The exact event of a claim, and the log that keeps it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{MID, TestGateway, beat, per_content, per_user, post_beats};

fn gateway() -> TestGateway {
    TestGateway::rewarding_with(
        &[per_user("first-of-day", "0s"), per_content("first-view", "0s")],
        &[("rewards.zone", "Asia/Kathmandu")],
    )
}

fn of<'a>(events: &'a [Value], rule: &str) -> &'a Value {
    events.iter().find(|event| event["data"]["rule"] == rule).unwrap_or_else(|| panic!("{rule} in {events:?}"))
}

/// Milliseconds since 1970 as RFC 3339 has them.
fn rfc3339(ms: u64) -> String {
    jiff::Timestamp::from_millisecond(ms as i64).expect("a time").to_string()
}

#[tokio::test]
async fn an_event_has_all_fields_of_its_claim() {
    let gateway = gateway();
    let mut client = gateway.connect(MID).await;
    client.call(json!({"hello": {"device": "tv-3f"}})).await;
    let (today, at) = (client.today(), client.now());
    client.play(None, [beat(100, at).session(8_311_207).watched(5_000)]).await;
    let events = gateway.events(2).await;
    assert_eq!(events.len(), 2);
    for (rule, id) in
        [("first-of-day", format!("first-of-day:{today}:42")), ("first-view", format!("first-view:{today}:42:1:100"))]
    {
        let event = of(&events, rule);
        let claimed_at = event["data"]["claimed_at"].as_u64().expect("claimed_at");
        assert!((at - 1_000..at + 60_000).contains(&claimed_at), "{event}");
        let source = event["source"].as_str().expect("a source");
        assert!(source.strip_prefix("/heartline/").is_some_and(|deployment| !deployment.is_empty()), "{source}");
        let time: jiff::Timestamp = event["time"].as_str().expect("a time").parse().expect("RFC 3339");
        assert_eq!(time.to_string(), rfc3339(claimed_at));
        let expected = json!({
            "specversion": "1.0",
            "id": id,
            "type": "dev.heartline.reward.v1",
            "source": source,
            "subject": "42",
            "partitionkey": "42",
            "time": event["time"],
            "datacontenttype": "application/json",
            "data": {
                "rule": rule,
                "mid": "42",
                "day": today,
                "zone": "Asia/Kathmandu",
                "kind": 1,
                "oid": "100",
                "session": "8311207",
                "device": "tv-3f",
                "watched": 5_000,
                "claimed_at": claimed_at,
            },
        });
        assert_eq!(event, &expected);
    }
}

#[tokio::test]
async fn there_is_no_event_without_a_claim() {
    let gateway = gateway();
    let (_, now) = gateway.today_and_now().await;
    let http = gateway.http(MID);
    for step in 0..20 {
        post_beats(&http, None, [beat(100, now - 100 + step)]).await;
        post_beats(&gateway.http(43), None, [beat(100, now - 90_000 + step)]).await;
    }
    // Claims leave in their order: what came before the last is there when it is.
    post_beats(&gateway.http(44), None, [beat(100, now)]).await;
    let events = gateway.events(4).await;
    let ids: BTreeSet<_> = events.iter().map(|event| event["id"].as_str().expect("an id")).collect();
    assert_eq!((events.len(), ids.len()), (4, 4), "{ids:?}");
    assert!(ids.iter().all(|id| id.contains(":42") || id.contains(":44")), "{ids:?}");
}

#[tokio::test]
async fn the_event_log_is_the_same_after_a_kill_and_after_a_drain() {
    let mut gateway = gateway();
    let (_, now) = gateway.today_and_now().await;
    let mut whole = Vec::new();
    for mid in 1..=6 {
        for step in 0..5 {
            post_beats(&gateway.http(mid), None, [beat(100 + step, now + step)]).await;
        }
        let claims = mid as usize * 6;
        if mid % 2 == 0 {
            gateway.restart();
        } else {
            gateway.drain_and_restart().await;
        }
        gateway.event_ids(claims).await;
        let log = gateway.event_log().await;
        assert_eq!(log[..whole.len()], whole, "what was read once is there for good");
        let offsets: Vec<_> = log.iter().map(|entry| entry["offset"].as_u64().expect("an offset")).collect();
        assert!(offsets.is_sorted_by(|one, next| one < next), "{offsets:?}");
        let ids: BTreeSet<_> = log.iter().map(|entry| entry["event"]["id"].to_string()).collect();
        assert_eq!(ids.len(), claims);
        whole = log;
    }
}

#[tokio::test]
async fn a_drain_publishes_all_events() {
    let mut gateway = gateway();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.play(None, (0..400).map(|oid| beat(oid, at))).await;
    gateway.drain_and_restart().await;
    let log = gateway.event_log().await;
    assert_eq!(log.len(), 401, "at once, without waiting for anything");
    assert_eq!(gateway.metric("heartline_outbox_entries").await, 0.0);
    assert_eq!(gateway.metric("heartline_events_published_total").await, 0.0, "by the process after it");
}
