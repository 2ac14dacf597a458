//! `list` with `finished`: "continue watching" in one request, over the socket and HTTP.

use serde_json::{Value, json};

use crate::support::{Beat, MID, TestClient, TestGateway, beat};

const DUR: u64 = 100_000;

/// Contents 0 to 29, the newest first, of kinds 1 and 4 in turn: of each three, the first two are over, one by its
/// position and one by its end, and the third is not.
fn history(at: u64) -> impl Iterator<Item = Beat> {
    (0..30).map(move |oid| {
        let beat = beat(oid, at - oid).kind(if oid % 2 == 0 { 1 } else { 4 }).dur(DUR);
        match oid % 3 {
            0 => beat.pos(DUR * 9 / 10).state("paused"),
            1 => beat.pos(0).state("ended"),
            _ => beat.pos(DUR / 2),
        }
    })
}

async fn watched(gateway: &TestGateway) -> TestClient {
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch(history(at)).await;
    client
}

fn oids(answer: &Value) -> Vec<u64> {
    let records = answer["records"].as_array().expect("records");
    records.iter().map(|record| record["oid"].as_str().expect("an oid").parse().expect("digits")).collect()
}

fn unfinished() -> Vec<u64> {
    (0..30).filter(|oid| oid % 3 == 2).collect()
}

fn finished() -> Vec<u64> {
    (0..30).filter(|oid| oid % 3 != 2).collect()
}

#[tokio::test]
async fn a_list_holds_what_is_finished_or_what_is_not() {
    let gateway = TestGateway::start();
    let mut client = watched(&gateway).await;
    let listed = client.call(json!({"list": {"limit": 100, "finished": false}})).await;
    assert_eq!((oids(&listed), listed.get("cursor")), (unfinished(), None));
    assert!(listed["records"].as_array().expect("records").iter().all(|record| record["finished"] == false));
    let listed = client.call(json!({"list": {"limit": 100, "finished": true}})).await;
    assert_eq!(oids(&listed), finished());
    assert!(listed["records"].as_array().expect("records").iter().all(|record| record["finished"] == true));
    let both = client.listed(json!({"limit": 100, "finished": null})).await;
    assert_eq!(both, (0..30).collect::<Vec<u64>>(), "null means missing");
}

#[tokio::test]
async fn the_cursor_carries_the_filter() {
    let gateway = TestGateway::start();
    let mut client = watched(&gateway).await;
    let mut list = json!({"limit": 3, "finished": false});
    let mut seen = Vec::new();
    loop {
        let page = client.call(json!({ "list": list })).await;
        assert!(oids(&page).len() <= 3);
        seen.extend(oids(&page));
        let Some(cursor) = page.get("cursor") else { break };
        list = json!({"limit": 3, "cursor": cursor});
    }
    assert_eq!(seen, unfinished());

    let kinds_too = client.call(json!({"list": {"limit": 3, "kinds": [4], "finished": true}})).await;
    assert_eq!(oids(&kinds_too), [1, 3, 7]);
    let next = client.listed(json!({"cursor": kinds_too["cursor"], "kinds": [4], "finished": true})).await;
    assert_eq!(next, [9, 13, 15, 19, 21, 25, 27]);
}

#[tokio::test]
async fn another_filter_beside_a_cursor_is_invalid() {
    let gateway = TestGateway::start();
    let mut client = watched(&gateway).await;
    let message = "list.finished: must be that of the cursor";
    for (first, beside) in [(json!(false), true), (json!(true), false), (Value::Null, true), (Value::Null, false)] {
        let page = client.call(json!({"list": {"limit": 2, "finished": first}})).await;
        let error = client.refused(json!({"list": {"cursor": page["cursor"], "finished": beside}})).await;
        assert_eq!((&error["code"], &error["message"]), (&json!("invalid"), &json!(message)), "{beside} after {first}");
        client.still_serves().await;
    }
}

#[tokio::test]
async fn http_takes_the_filter_in_the_query() {
    let gateway = TestGateway::start();
    let _client = watched(&gateway).await;
    let http = gateway.http(MID);
    let list = async |query: &str| http.get(&format!("/v1/history?{query}")).await;
    assert_eq!(oids(&list("limit=100&finished=false").await.json()), unfinished());
    assert_eq!(oids(&list("limit=100&finished=true").await.json()), finished());
    assert_eq!(oids(&list("limit=100&finished=").await.json()).len(), 30, "an empty value is a missing one");
    let first = list("limit=2&kinds=1&finished=false").await.json();
    assert_eq!(oids(&first), [2, 8]);
    let cursor = first["cursor"].as_str().expect("a cursor");
    assert_eq!(oids(&list(&format!("limit=2&cursor={cursor}")).await.json()), [14, 20]);
    let other = list(&format!("cursor={cursor}&finished=true")).await;
    assert_eq!(other.problem(400, "invalid")["detail"], "finished: must be that of the cursor");
    for bad in ["1", "False", "yes", "null"] {
        let refused = list(&format!("finished={bad}")).await;
        assert_eq!(refused.problem(400, "invalid")["detail"], "finished: must be true or false", "{bad}");
    }
}

#[tokio::test]
async fn what_is_marked_as_watched_leaves_the_list_of_what_is_not_finished() {
    let gateway = TestGateway::start();
    let mut client = watched(&gateway).await;
    let mark = beat(2, client.now()).pos(DUR).dur(DUR).state("ended").session(77).watched(1);
    client.watch([mark]).await;
    assert_eq!(client.listed(json!({"finished": false})).await, unfinished()[1..]);
    assert_eq!(client.listed(json!({"finished": true, "limit": 1})).await, [2]);
    let at = client.now();
    client.watch([beat(2, at + 1).dur(DUR).pos(DUR / 2).session(78)]).await;
    assert_eq!(client.listed(json!({"finished": false, "limit": 1})).await, [2], "it is watched again");
}

/// The settings say when a content is finished: of the list as of the record.
#[tokio::test]
async fn finished_is_what_the_settings_say() {
    let overrides = "[{ kind = 1, finished_at = 0.4 }, { kind = 4, thresholds = false }]";
    let gateway = TestGateway::with(&[("reading.overrides", overrides)]);
    let mut client = watched(&gateway).await;
    // Half of the one kind is enough, and of the other nothing but its end.
    let over = |oid: &u64| oid.is_multiple_of(2) || oid % 3 == 1;
    let expected: Vec<u64> = (0..30).filter(over).collect();
    assert_eq!(client.listed(json!({"limit": 100, "finished": true})).await, expected);
    let expected: Vec<u64> = (0..30).filter(|oid| !over(oid)).collect();
    assert_eq!(client.listed(json!({"limit": 100, "finished": false})).await, expected);
}

/// However few records are on the page.
#[tokio::test]
async fn rows_are_charged_as_they_are_looked_at() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch((0..400).map(|oid| beat(oid, at - oid).state("ended"))).await;
    let before = gateway.metric("heartline_list_rows_total").await;
    assert_eq!(client.listed(json!({"finished": false})).await, [0; 0]);
    let rows = gateway.metric("heartline_list_rows_total").await - before;
    assert!(rows >= 400.0, "{rows} rows");
}
