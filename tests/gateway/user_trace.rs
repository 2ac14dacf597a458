//! At debug, everything about one user can be followed by the hash.

use serde_json::{Value, json};

use crate::support::{MID, TestGateway, beat, run, until};

const SETTINGS: [(&str, &str); 3] = [("log.format", "json"), ("log.level", "debug"), ("log.mid_key", "a key")];

/// The lines about the user, without those of the connection itself.
fn lines(gateway: &TestGateway) -> Vec<Value> {
    let hash = String::from_utf8(run(&["hash", &MID.to_string()], &SETTINGS).stdout).expect("UTF-8");
    let log = gateway.log();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    let connection = [json!("connected"), json!("disconnected")];
    lines.filter(|line| line["user"] == hash.trim() && !connection.contains(&line["event"])).collect()
}

async fn wait_for(gateway: &TestGateway, count: usize) -> Vec<Value> {
    until("the lines of the user", async || lines(gateway).len() >= count).await;
    lines(gateway)
}

fn events(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["event"].as_str().expect("an event")).collect()
}

#[tokio::test]
async fn each_request_of_a_user_is_one_line() {
    let gateway = TestGateway::with(&SETTINGS);
    let http = gateway.http(MID);
    http.get("/v1/history").await;
    http.get("/v1/history/1/100").await;
    http.get("/v1/history?limit=x").await;
    gateway.http(MID + 1).get("/v1/history").await;
    gateway.anonymous_http().get("/v1/history").await;
    let lines = wait_for(&gateway, 3).await;
    let line = |line: &Value| {
        let part = |name: &str| line[name].as_str().expect(name).to_owned();
        (part("event"), part("method"), part("route"), line["status"].as_u64().expect("a status"))
    };
    let found: Vec<_> = lines.iter().map(line).collect();
    let expected = |route: &str, status| ("request".to_owned(), "GET".to_owned(), route.to_owned(), status);
    let one = "/v1/history/{kind}/{oid}";
    assert_eq!(found, [expected("/v1/history", 200), expected(one, 404), expected("/v1/history", 400)]);
    assert_eq!(lines[0]["address"], json!("127.0.0.1"));
    let all = gateway.log();
    assert_eq!(all.lines().filter(|line| line.contains(r#""event":"request""#)).count(), 5, "{all}");
}

#[tokio::test]
async fn rejections_deletes_and_clears_of_a_socket_are_lines_with_their_connection() {
    let gateway = TestGateway::with(&SETTINGS);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch([beat(100, at)]).await;
    client.beats([beat(7, at + 60_000)]).await;
    client.beats([beat(100, at - 1)]).await;
    let items = json!([{"kind": 1, "oid": "100"}]);
    client.call(json!({"delete": {"items": items, "at": at + 1}})).await;
    client.call(json!({"clear": {"at": at + 2}})).await;
    let lines = wait_for(&gateway, 4).await;
    assert_eq!(events(&lines), ["beat_rejected", "beat_rejected", "deleted", "cleared"], "{lines:?}");
    assert_eq!((&lines[0]["oid"], &lines[0]["reason"], &lines[0]["index"]), (&json!(7), &json!("clock"), &json!(0)));
    assert_eq!((&lines[1]["oid"], &lines[1]["reason"]), (&json!(100), &json!("superseded")));
    assert_eq!((&lines[2]["contents"], &lines[2]["changed"]), (&json!(1), &json!(1)));
    for line in &lines {
        assert_eq!(line["connection"], client.connection(), "{line}");
    }
}

#[tokio::test]
async fn changes_over_http_are_lines_too() {
    let gateway = TestGateway::with(&SETTINGS);
    let http = gateway.http(MID);
    http.post("/v1/beats", &json!({"items": [beat(7, 1).json()]})).await;
    http.delete("/v1/history").await;
    let lines = wait_for(&gateway, 4).await;
    assert_eq!(events(&lines), ["beat_rejected", "request", "cleared", "request"], "{lines:?}");
    assert_eq!(lines[0]["reason"], json!("expired"));
}

#[tokio::test]
async fn without_debug_there_are_no_such_lines() {
    let gateway = TestGateway::with(&[("log.format", "json"), ("log.mid_key", "a key")]);
    let mut client = gateway.connect(MID).await;
    client.beats([beat(7, client.now() + 60_000)]).await;
    gateway.http(MID).delete("/v1/history").await;
    assert_eq!(lines(&gateway), [Value::Null; 0]);
}
