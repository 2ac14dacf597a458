//! `/metrics` of a fresh gateway, and after requests.

use std::collections::HashSet;

use crate::support::{MID, TestGateway, beat};

#[tokio::test]
async fn the_program_and_its_process_are_measured() {
    let gateway = TestGateway::start();
    let page = gateway.admin().get("/metrics").await.text().to_owned();
    let build = format!("heartline_build_info{{version=\"{}\",commit=\"", env!("CARGO_PKG_VERSION"));
    assert!(page.contains(&build), "{page}");
    for name in ["process_open_fds", "process_max_fds", "process_resident_memory_bytes"] {
        assert!(gateway.metric(name).await >= 1.0, "{name}");
    }
    let age =
        jiff::Timestamp::now().as_millisecond() as f64 / 1_000.0 - gateway.metric("process_start_time_seconds").await;
    assert!((-2.0..600.0).contains(&age), "started {age} s ago");
    assert!(page.contains("\nprocess_cpu_seconds_total "), "{page}");
}

#[tokio::test]
async fn counters_are_there_before_the_first_event() {
    let gateway = TestGateway::start();
    let page = gateway.admin().get("/metrics").await.text().to_owned();
    let samples: HashSet<_> = page.lines().collect();
    for code in [1000, 1001, 1002, 1003, 1006, 1007, 1009, 1012, 1013, 4000, 4001, 4002, 4003, 4004, 4008, 4009, 4010] {
        assert!(samples.contains(&*format!("heartline_closes_total{{code=\"{code}\"}} 0")), "{code}: {page}");
    }
    for reason in ["handshakes", "address_upgrades", "slow_request"] {
        assert!(samples.contains(&*format!("heartline_refused_total{{reason=\"{reason}\"}} 0")), "{reason}: {page}");
    }
    let timed = r#"heartline_http_request_seconds_count{route="/v1/beats",method="POST",status="5xx"} 0"#;
    assert!(samples.contains(timed), "{page}");
    assert!(samples.contains(r#"heartline_store_read_failures_total{read="list"} 0"#), "{page}");
}

#[tokio::test]
async fn a_code_that_a_client_made_up_is_no_label() {
    let gateway = TestGateway::start();
    gateway.connect(MID).await.close(4321).await;
    gateway.wait_for_metric(r#"heartline_closes_total{code="other"}"#, |closes| closes == 1.0).await;
    // Between quotes: a sum of seconds may have these digits, too.
    assert!(!gateway.admin().get("/metrics").await.text().contains(r#""4321""#));
}

#[tokio::test]
async fn requests_are_timed_by_route_method_and_status() {
    let gateway = TestGateway::start();
    let counted = async |route: &str, method: &str, status: &str| {
        let labels = format!(r#"{{route="{route}",method="{method}",status="{status}"}}"#);
        gateway.metric(&format!("heartline_http_request_seconds_count{labels}")).await
    };
    assert_eq!(gateway.http(MID).get("/v1/history").await.status, 200);
    assert_eq!(gateway.http(MID).get("/v1/history/1/7").await.status, 404);
    assert_eq!(gateway.anonymous_http().get("/v1/history").await.status, 401);
    assert_eq!(gateway.http(MID).send("PATCH", "/v1/history", None).await.status, 405);
    assert_eq!(gateway.http(MID).get("/v1/made-up").await.status, 404);
    assert_eq!(counted("/v1/history", "GET", "2xx").await, 1.0);
    assert_eq!(counted("/v1/history", "GET", "4xx").await, 1.0);
    assert_eq!(counted("/v1/history/{kind}/{oid}", "GET", "4xx").await, 1.0);
    assert_eq!(counted("/v1/history", "other", "4xx").await, 1.0);
    assert_eq!(counted("other", "other", "4xx").await, 1.0);
    assert!(!gateway.admin().get("/metrics").await.text().contains("made-up"));
}

#[tokio::test]
async fn reads_of_the_store_are_timed() {
    let gateway = TestGateway::start();
    let name = r#"heartline_store_read_seconds_count{read="list"}"#;
    assert_eq!(gateway.metric(name).await, 0.0);
    gateway.http(MID).get("/v1/history").await;
    assert_eq!(gateway.metric(name).await, 1.0);
    gateway.http(MID).get("/v1/history/1/7").await;
    assert_eq!(gateway.metric(r#"heartline_store_read_seconds_count{read="get"}"#).await, 1.0);
}

#[tokio::test]
async fn the_disk_is_measured() {
    let gateway = TestGateway::embedded(&[]);
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(7, at)]).await;
    for name in [r#"heartline_store_bytes{store="hot"}"#, r#"heartline_store_bytes{store="events"}"#] {
        assert!(gateway.metric(name).await > 0.0, "{name}");
    }
    let (free, size) =
        (gateway.metric("heartline_disk_free_bytes").await, gateway.metric("heartline_disk_size_bytes").await);
    assert!(0.0 < free && free < size, "{free} of {size}");
}
