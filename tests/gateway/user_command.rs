//! `heartline user`, and `GET /v1/connections` of the control listener.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

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

#[tokio::test]
async fn the_command_prints_the_newest_records() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch((0..30).map(|oid| beat(100 + oid, at + oid))).await;
    let control = gateway.control_address().to_string();
    let output = run(&["user", "42"], &[("control.listen", &control), ("control.token", CONTROL_TOKEN)]);
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(said.contains("records: 20, the newest of more"), "{said}");
    let shown: Vec<u64> = (100..130).filter(|oid| said.contains(&format!(r#""oid":"{oid}""#))).collect();
    assert_eq!(shown, (110..130).collect::<Vec<_>>(), "{said}");
}

/// A control listener that knows the user's connections, and whose store is away.
fn without_a_store() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut head = BufReader::new(&stream).lines().map_while(Result::ok);
            let asked = head.next().unwrap_or_default();
            head.take_while(|line| !line.is_empty()).for_each(drop);
            let (status, body) = match asked.contains("/v1/connections") {
                true => {
                    ("200 OK", json!({"mid": "42", "gateway": "here", "hash": "8a8a7986dd5630d2", "connections": []}))
                }
                false => ("503 Service Unavailable", json!({"status": 503, "detail": "hot store unavailable"})),
            };
            let body = body.to_string();
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn the_command_says_that_the_store_is_away_and_not_the_gateway() {
    let control = without_a_store().to_string();
    let output = run(&["user", "42"], &[("control.listen", &control), ("control.token", CONTROL_TOKEN)]);
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    let expected = format!("heartline: {control} (control.listen) cannot answer now: hot store unavailable\n");
    assert_eq!((output.status.code(), told), (Some(69), expected));
}
