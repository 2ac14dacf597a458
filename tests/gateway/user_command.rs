//! `heartline user`, and `GET /v1/connections` of the control listener.

use serde_json::json;

use crate::support::{CONTROL_TOKEN, MID, TestGateway, beat, run, until};

#[tokio::test]
async fn the_connections_of_a_user_are_listed_while_they_are_open() {
    let gateway = TestGateway::start();
    let list = async || gateway.control().get("/v1/connections?mid=42").await.json();
    assert_eq!(list().await["connections"], json!([]));
    let mut tv = gateway.connect(MID).await;
    let since = tv.welcome()["now"].as_u64().expect("a moment");
    tv.call(json!({"hello": {"device": "tv-3f"}})).await;
    let phone = gateway.connect(MID).await;
    gateway.connect(7).await.still_serves().await;
    let listed = list().await;
    assert_eq!((&listed["mid"], listed["connections"].as_array().map(Vec::len)), (&json!("42"), Some(2)), "{listed}");
    let first = &listed["connections"][0];
    assert_eq!(first["connection"], tv.welcome()["connection"], "{listed}");
    assert_eq!((&first["address"], &first["device"]), (&json!("127.0.0.1"), &json!("tv-3f")), "{listed}");
    assert_eq!(first["since"], json!(since));
    assert_eq!(listed["connections"][1]["device"], json!(""));
    let port = format!(":{}", gateway.address().port());
    assert!(listed["gateway"].as_str().is_some_and(|name| name.ends_with(&port)), "{listed}");
    drop(phone);
    tv.close(1000).await;
    until("an empty list", async || list().await["connections"] == json!([])).await;
    for bad in ["", "?mid=", "?mid=x", "?mid=42&limit=1"] {
        assert_eq!(gateway.control().get(&format!("/v1/connections{bad}")).await.status, 400, "{bad}");
    }
}

#[tokio::test]
async fn the_command_prints_what_is_known_of_a_user() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    client.call(json!({"hello": {"device": "tv\n3f"}})).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    client.pause_recording(true, at + 1).await;
    let control = gateway.control_address().to_string();
    let output = run(&["user", "42"], &[("control.listen", &control), ("control.token", CONTROL_TOKEN)]);
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{:?}", String::from_utf8_lossy(&output.stderr));
    let id = client.welcome()["connection"].as_str().expect("an id").to_owned();
    for part in
        ["user 42 (in the log: ", &id, "127.0.0.1", r"tv\n3f", "recording: paused", "records: 1", r#""oid":"100""#]
    {
        assert!(said.contains(part), "{part} in {said}");
    }
}
