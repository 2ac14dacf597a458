//! The log lines of the process and of each connection.

use serde_json::{Value, json};

use crate::support::{MID, TestGateway};

fn lines(gateway: &TestGateway) -> Vec<Value> {
    let log = gateway.log();
    log.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn of_event(lines: &[Value], event: &str) -> Vec<Value> {
    lines.iter().filter(|line| line["event"] == event).cloned().collect()
}

#[tokio::test]
async fn the_first_line_says_what_starts_and_the_last_one_that_it_stopped() {
    let mut gateway = TestGateway::with(&[("log.format", "json")]);
    gateway.terminate();
    gateway.ended().await;
    let lines = lines(&gateway);
    let (first, last) = (lines.first().expect("a line"), lines.last().expect("a line"));
    assert_eq!((&first["event"], &first["version"]), (&json!("starting"), &json!(env!("CARGO_PKG_VERSION"))));
    for field in ["commit", "listen", "hot_store", "event_bus", "data_dir"] {
        assert!(first[field].is_string(), "{field}: {first}");
    }
    let listening = of_event(&lines, "listening");
    assert_eq!(listening[0]["listen"], json!(gateway.address().to_string()));
    assert_eq!(of_event(&lines, "draining").len(), 1);
    assert_eq!((&last["event"], &last["level"]), (&json!("stopped"), &json!("INFO")));
}

#[tokio::test]
async fn a_connection_can_be_followed_from_its_start_to_its_end() {
    let mut gateway = TestGateway::with(&[("log.format", "json")]);
    let mut client = gateway.upgrade().open().await;
    client.send(json!({"hello": {"token": crate::support::Token::of(MID).sign(), "device": "tv"}})).await;
    client.wait_for_welcome().await;
    let connection = client.connection().to_owned();
    let kick = gateway.control().post("/v1/kick", &json!({"mid": MID.to_string()})).await;
    assert_eq!((kick.status, client.closed().await), (204, 4003));
    let mut other = gateway.connect(MID + 1).await;
    other.close(1000).await;
    gateway.terminate();
    gateway.ended().await;

    let lines = lines(&gateway);
    let (connected, disconnected) = (of_event(&lines, "connected"), of_event(&lines, "disconnected"));
    assert_eq!((connected.len(), disconnected.len()), (2, 2));
    for line in [&connected[0], &disconnected[0]] {
        assert_eq!((&line["connection"], &line["device"]), (&json!(connection), &json!("tv")));
        assert_eq!(line["address"], json!("127.0.0.1"));
        assert_eq!(line["user"], connected[0]["user"]);
        assert!(!line.to_string().contains(&format!("\"{MID}\"")), "{line}");
    }
    let end = &disconnected[0];
    assert_eq!((&end["code"], &end["reason"]), (&json!(4003), &json!("kicked")));
    assert_eq!(end["closed_by"], json!("gateway"));
    assert!(end["duration_seconds"].as_f64().is_some_and(|seconds| (0.0..60.0).contains(&seconds)), "{end}");
    let end = &disconnected[1];
    assert_eq!((&end["code"], &end["reason"]), (&json!(1000), &json!("normal")));
    assert_eq!(end["closed_by"], json!("client"));
}

#[tokio::test]
async fn the_first_line_of_a_connection_has_the_device_wherever_the_token_was() {
    let gateway = TestGateway::with(&[("log.format", "json")]);
    let mut client = gateway.connect(MID).await;
    client.call(json!({"hello": {"device": "tv"}})).await;
    let connected = of_event(&lines(&gateway), "connected");
    assert_eq!(connected.len(), 1);
    assert_eq!((&connected[0]["device"], &connected[0]["connection"]), (&json!("tv"), &json!(client.connection())));
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_logged_after_a_moment_or_at_its_end() {
    let gateway = TestGateway::with(&[("log.format", "json")]);
    let silent = gateway.connect(MID).await;
    gateway.wait_for_log(&format!(r#""connection":"{}""#, silent.connection())).await;
    let mut brief = gateway.connect(MID + 1).await;
    brief.close(1000).await;
    gateway.wait_for_log("disconnected").await;
    let lines = lines(&gateway);
    let events: Vec<_> =
        lines.iter().filter(|line| line["connection"].is_string()).map(|line| &line["event"]).collect();
    assert_eq!(events, ["connected", "connected", "disconnected"]);
    assert_eq!(lines.last().expect("a line")["connection"], brief.connection());
}

#[tokio::test]
async fn lines_of_connections_can_be_left_out() {
    let mut gateway = TestGateway::with(&[("log.format", "json"), ("log.connections", "false")]);
    gateway.connect(MID).await.close(1000).await;
    gateway.terminate();
    gateway.ended().await;
    let lines = lines(&gateway);
    assert_eq!((of_event(&lines, "starting").len(), of_event(&lines, "connected").len()), (1, 0));
}
