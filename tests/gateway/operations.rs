//! The probe listener: health, readiness, figures.

use serde_json::json;

use crate::support::{MID, NEVER, TestGateway, Token, beat};

#[tokio::test]
async fn a_running_gateway_is_healthy_and_ready() {
    let gateway = TestGateway::start();
    assert_eq!(gateway.admin().get("/healthz").await.status, 200);
    assert_eq!(gateway.admin().get("/readyz").await.status, 200);
}

#[tokio::test]
async fn a_draining_gateway_is_healthy_and_not_ready() {
    let mut gateway = TestGateway::with(&[("server.drain_timeout", NEVER)]);
    // Does not close of itself, so the drain lasts.
    let holder = gateway.raw(MID).await;
    gateway.terminate();
    gateway.wait_for_drain().await;
    assert_eq!(gateway.admin().get("/readyz").await.status, 503);
    assert_eq!(gateway.admin().get("/healthz").await.status, 200);
    drop(holder);
    gateway.ended().await;
}

#[tokio::test]
async fn the_public_listener_shows_nothing_of_the_others() {
    let gateway = TestGateway::start();
    for path in ["/metrics", "/healthz", "/readyz", "/v1/events", "/v1/export?mid=42"] {
        assert_eq!(gateway.http(MID).get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_connection_costs_one_signature_check() {
    let gateway = TestGateway::start();
    let checks = r#"heartline_auth_checks_total{result="ok"}"#;
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    for step in 0..20 {
        client.watch([beat(100, at + step)]).await;
        client.still_serves().await;
    }
    assert_eq!(gateway.metric(checks).await, 1.0);
    client.call(json!({"hello": {"device": "tv"}})).await;
    assert_eq!(gateway.metric(checks).await, 1.0);
    client.call(json!({"token": {"token": Token::of(MID).sign()}})).await;
    assert_eq!(gateway.metric(checks).await, 2.0, "a renewal is checked");
    let mut by_hello = gateway.upgrade().open().await;
    by_hello.send(json!({"hello": {"token": Token::of(MID).sign()}})).await;
    by_hello.wait_for_welcome().await;
    assert_eq!(gateway.metric(checks).await, 3.0);
    gateway.upgrade().bearer("no-token").refused().await;
    assert_eq!(gateway.metric(r#"heartline_auth_checks_total{result="refused"}"#).await, 1.0);
}

#[tokio::test]
async fn every_outcome_of_a_beat_is_counted() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    client.pause_recording(true, now - 60_000).await;
    client.pause_recording(false, now - 30_000).await;
    client.watch([beat(1, now)]).await;
    client.watch([beat(1, now)]).await;
    client.watch([beat(2, now - 1), beat(2, now), beat(2, now - 2)]).await;
    client.beats([beat(3, now).with("rate", 17)]).await;
    client.beats([beat(3, now + 60_000)]).await;
    client.beats([beat(3, 1)]).await;
    client.beats([beat(3, now).state("paused").watched(0)]).await;
    client.beats([beat(3, now - 45_000)]).await;
    client.beats([beat(1, now - 1)]).await;
    for (outcome, count) in [
        ("written", 2.0),
        ("same", 1.0),
        ("covered", 2.0),
        ("invalid", 1.0),
        ("clock", 1.0),
        ("expired", 1.0),
        ("not_started", 1.0),
        ("not_recording", 1.0),
        ("superseded", 1.0),
    ] {
        let name = format!(r#"heartline_beats_total{{outcome="{outcome}"}}"#);
        gateway.wait_for_metric(&name, |value| value == count).await;
    }
}

#[tokio::test]
async fn the_figures_have_their_names() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    other.push().await;
    assert_eq!(gateway.metric("heartline_connections").await, 2.0);
    gateway.wait_for_metric("heartline_uncommitted_slots", |value| value == 0.0).await;
    gateway.wait_for_metric("heartline_pushes_total", |value| value == 1.0).await;
    gateway.wait_for_metric("heartline_store_ok", |value| value == 1.0).await;
    for name in [
        "heartline_commit_group_slots_count",
        "heartline_commit_seconds_count",
        "heartline_ack_seconds_count",
        r#"heartline_socket_bytes_total{direction="in"}"#,
        r#"heartline_socket_bytes_total{direction="out"}"#,
        r#"heartline_frames_total{direction="in"}"#,
        r#"heartline_frames_total{direction="out"}"#,
    ] {
        gateway.wait_for_metric(name, |value| value > 0.0).await;
    }
    other.close(1000).await;
    gateway.wait_for_metric("heartline_connections", |value| value == 1.0).await;
    gateway.wait_for_metric(r#"heartline_closes_total{code="1000"}"#, |value| value == 1.0).await;
}

#[tokio::test]
async fn logs_may_be_json() {
    let mut gateway = TestGateway::with(&[("log.format", "json"), ("log.level", "debug")]);
    gateway.connect(MID).await.close(1000).await;
    gateway.terminate();
    gateway.ended().await;
    let log = gateway.log();
    assert!(!log.is_empty());
    for line in log.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok_and(|line| line.is_object()), "{line}");
    }
}

#[tokio::test]
async fn metrics_are_text_in_the_format_that_is_asked_for() {
    let gateway = TestGateway::start();
    let page = async |accept: Option<&str>| {
        let admin = gateway.admin();
        let admin = accept.iter().fold(admin, |admin, accept| admin.header("accept", accept));
        let answer = admin.get("/metrics").await;
        assert_eq!((answer.status, answer.header("vary")), (200, Some("Accept")));
        (answer.header("content-type").expect("a type").to_owned(), answer.text().to_owned())
    };
    let of_prometheus = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.4,*/*;q=0.2";
    for accept in ["application/openmetrics-text", of_prometheus] {
        let (media_type, page) = page(Some(accept)).await;
        assert_eq!(media_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
        assert!(page.contains("# TYPE heartline_closes counter\n") && page.ends_with("# EOF\n"), "{page}");
    }
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for accept in [None, Some("*/*"), Some("text/plain"), Some(browser)] {
        let (media_type, page) = page(accept).await;
        assert_eq!(media_type, "text/plain; version=0.0.4; charset=utf-8", "{accept:?}");
        assert!(page.contains("# TYPE heartline_closes_total counter\n") && !page.contains("# EOF"), "{page}");
        assert!(page.contains("# TYPE heartline_connections gauge\n"), "{page}");
    }
}
