//! Gateways on one Redis have some settings alike: another one is refused, unless it is told to make its settings the
//! deployment's. Then the others end.

use serde_json::json;

use crate::support::{FailedStart, MID, TestGateway, beat, per_user, rules};

const ACCEPT: &[&str] = &["--accept-settings"];

fn refused(gateway: &TestGateway, settings: &[(&str, &str)]) -> FailedStart {
    match gateway.try_neighbour("all", settings, &[]) {
        Ok(_) => panic!("{settings:?} were accepted"),
        Err(failed) => failed,
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run services"]
async fn a_gateway_with_other_settings_is_refused_and_names_them() {
    let gateway = TestGateway::on_redis(&[]);
    let other_rules = rules(&[per_user("another", "0s")]);
    let direct = r#"[{ id = "likes", key = ["kind", "oid"] }]"#;
    for (setting, value) in [
        ("store.retention", "2d"),
        ("store.records_per_user", "500"),
        ("rewards.rules", &other_rules),
        ("rewards.zone", "Europe/Berlin"),
        ("views.watched", "6s"),
        ("views.public", "true"),
        ("reading.finished_at", "0.8"),
        ("counters.direct", direct),
        ("events.deployment", "elsewhere"),
    ] {
        let failed = refused(&gateway, &[(setting, value)]);
        assert_eq!(failed.code, Some(78), "{setting}: {}", failed.stderr);
        let said = failed.stderr.lines().find(|line| line.starts_with(&format!("heartline: {setting}: is ")));
        assert!(said.is_some(), "{setting}: {}", failed.stderr);
        assert!(failed.stderr.contains("--accept-settings"), "{}", failed.stderr);
    }
    let failed = refused(&gateway, &[("store.retention", "2d"), ("reading.finished_at", "0.8")]);
    assert!(failed.stderr.contains("store.retention: is 2d, and the other gateways on this Redis have 90d"));
    assert!(failed.stderr.contains("reading.finished_at: is 0.8, and"), "{}", failed.stderr);
    // What is only written in another way, or is each gateway's own, is no other setting.
    let alike = [("store.retention", "2160h"), ("counters.flush_interval", "3s"), ("store.group_interval", "5ms")];
    let neighbour = gateway.try_neighbour("all", &alike, &[]).expect("a neighbour");
    for gateway in [&gateway, &neighbour] {
        gateway.connect(MID).await.still_serves().await;
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run services"]
async fn history_services_and_cascades_compare_what_they_use() {
    let gateway = TestGateway::on_redis(&[]);
    // Kafka is not asked before.
    let cascade = [("events.event_bus", "kafka"), ("kafka.brokers", r#"["127.0.0.1:1"]"#)];
    for (role, setting, value, further) in [
        ("history", "store.retention", "2d", &[("grpc.listen", "127.0.0.1:0")][..]),
        ("cascade", "events.deployment", "elsewhere", &cascade),
    ] {
        let settings = [&[(setting, value)], further].concat();
        let Err(failed) = gateway.try_neighbour(role, &settings, &[]) else { panic!("{role}: {setting}") };
        assert_eq!(failed.code, Some(78), "{role}: {}", failed.stderr);
        assert!(failed.stderr.contains(&format!("heartline: {setting}: is ")), "{role}: {}", failed.stderr);
    }
}

/// A cascade stores the settings that it uses, and does not know how users are named.
#[tokio::test]
#[ignore = "needs Redis: tests/run services"]
async fn a_cascade_may_start_before_the_first_gateway() {
    // Kafka is not asked before.
    let bus = [("events.event_bus", "kafka"), ("kafka.brokers", r#"["127.0.0.1:1"]"#)];
    for subjects in ["any", "number"] {
        let cascade = TestGateway::of_role_on_redis("cascade", &bus);
        let gateway = cascade.neighbour_as("all", &[("auth.subjects", subjects)]);
        let mut client = gateway.connect(MID).await;
        assert_eq!(client.welcome().get("sub").is_some(), subjects == "any");
        let at = client.now();
        client.watch([beat(100, at)]).await;
        let other = if subjects == "any" { "number" } else { "any" };
        let failed = refused(&gateway, &[("auth.subjects", other)]);
        assert_eq!(failed.code, Some(78), "{}", failed.stderr);
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run services"]
async fn settings_that_are_accepted_become_the_deployments_and_others_end() {
    let mut old = TestGateway::on_redis(&[("log.format", "json")]);
    let mut viewer = old.connect(MID).await;
    let at = viewer.now();
    viewer.watch([beat(100, at)]).await;
    let news = [("store.retention", "2d"), ("reading.finished_at", "0.8")];
    let new = old.try_neighbour("all", &news, ACCEPT).expect("a gateway that makes its settings the deployment's");
    new.wait_for_log("settings_accepted").await;
    // As at a drain: the viewer is told, and nothing that was acked is lost.
    assert_eq!(viewer.closed().await, 1012);
    assert_eq!(old.ended().await.code(), Some(78));
    let said = old.log();
    assert!(said.contains("store.retention: is 90d, and the other gateways on this Redis have 2d"), "{said}");
    assert_eq!(new.connect(MID).await.listed(json!({})).await, [100]);
    // They hold from now on, without the option.
    assert_eq!(refused(&new, &[("store.retention", "90d")]).code, Some(78));
    let third = new.neighbour();
    for gateway in [&new, &third] {
        gateway.connect(MID).await.still_serves().await;
    }
}
