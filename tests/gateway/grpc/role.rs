//! The role `history`: the service alone, without a listener for clients.

use std::fs;
use std::net::TcpListener;

use serde_json::json;
use tonic::Code;
use tonic_health::pb::health_check_response::ServingStatus;

use super::limits::health;
use super::{BOTH, LISTENS, address_of, beat, caller, client, get, now, put, service};
use crate::published_keys::{Issuer, keys};
use crate::support::keys::{EC_1, ED_1, key_set};
use crate::support::{self, DEMO_OVERRIDE, MID, NEVER, TestGateway, run};

const BAD_CONFIGURATION: i32 = 78;
const ROLE: &str = "history";

/// Nothing to be warned of.
const QUIET: (&str, &str) = (DEMO_OVERRIDE, "false");

/// Settings that only a process with clients could not start with.
const FOR_CLIENTS: [(&str, &str); 5] = [
    ("server.listen", "192.0.2.77:7700"),
    ("server.tls_cert", "/nonexistent/cert.pem"),
    ("server.tls_key", "/nonexistent/key.pem"),
    ("live.geoip", "/nonexistent/countries.mmdb"),
    ("demo.enabled", "false"),
];

fn history(settings: &[(&str, &str)]) -> TestGateway {
    TestGateway::of_role(ROLE, &[&[LISTENS], settings].concat())
}

/// Exit code, and the lines for a person.
fn check(role: &str, settings: &[(&str, &str)]) -> (Option<i32>, Vec<String>) {
    let output = run(&["check-config", "--role", role], &[&[QUIET], settings].concat());
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    let told = told.lines().filter_map(|line| line.strip_prefix("heartline: ")).map(str::to_owned);
    (output.status.code(), told.collect())
}

#[tokio::test]
async fn a_history_service_serves_grpc_probes_and_control_and_no_clients() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let public = taken.local_addr().expect("an address").to_string();
    let served = history(&[("server.listen", &public), ("live.widget", "true"), QUIET]);
    let address = address_of(&served);
    assert_eq!(served.printed(), [format!("grpc listener: http://{address}")]);

    let mut caller = caller(&served).await;
    let at = now(&mut caller).await;
    put(&mut caller, MID, [beat(1, at)]).await;
    let records = get(&mut caller, MID, [1]).await;
    assert_eq!(records[0].as_ref().map(|record| record.pos), Some(10_000));

    assert_eq!(served.admin().get("/readyz").await.status, 200);
    let user = served.control().get(&format!("/v1/connections?mid={MID}")).await;
    assert_eq!(user.status, 200, "{}", user.text());
    let name = user.json()["gateway"].as_str().expect("a name").to_owned();
    assert!(name.ends_with(&format!(":{}", address.port())), "{name} of {address}");

    let log = served.log();
    assert!(log.contains(&format!("grpc={address}")) && !log.contains("listen="), "{log}");
    assert!(!log.contains("demo"), "{log}");
}

#[tokio::test]
async fn it_starts_without_the_files_that_are_for_clients() {
    let served = history(&FOR_CLIENTS);
    now(&mut caller(&served).await).await;
    served.hang_up();
    served.wait_for_log("keys reloaded").await;
    assert!(!served.log().contains("country file"), "{}", served.log());
}

#[tokio::test]
async fn a_drain_answers_calls_says_so_and_keeps_what_it_acked() {
    let mut served = history(&[("server.drain_timeout", NEVER)]);
    let mut caller = caller(&served).await;
    let at = now(&mut caller).await;
    assert_eq!(run_health(&served), Some(0));
    // Connected before the drain: nothing new is accepted later.
    let mut watched = tonic_health::pb::health_client::HealthClient::new(super::channel(&served).await);
    assert_eq!(health(&served, "heartline.v1.History").await, Ok(ServingStatus::Serving));
    served.terminate();
    served.wait_for_drain().await;
    assert_eq!(run_health(&served), Some(1));
    let request = tonic_health::pb::HealthCheckRequest { service: "heartline.v1.History".to_owned() };
    let told = watched.check(request).await.expect("an answer").into_inner().status();
    assert_eq!(told, ServingStatus::NotServing);
    put(&mut caller, MID, [beat(1, at)]).await;
    assert!(served.ended().await.success());

    served.restart();
    let mut caller = super::caller(&served).await;
    assert!(get(&mut caller, MID, [1]).await[0].is_some());
}

/// The exit code of `heartline health`.
fn run_health(served: &TestGateway) -> Option<i32> {
    run(&["health"], &[("admin.listen", &served.admin_address().to_string())]).status.code()
}

#[tokio::test]
async fn keys_are_read_again_at_sighup() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("keys.json");
    fs::write(&file, key_set([EC_1.jwk()])).expect("a file");
    let served = history(&[("auth.hs256_secret", ""), ("auth.jwks_file", file.to_str().expect("ASCII"))]);
    let opens = async |token: String| {
        let request = super::wire::OpenRequest { mid: Some(MID), sub: String::new() };
        client(&served, Some(token)).await.open(request).await.map_or_else(|status| status.code(), |_| Code::Ok)
    };
    let [old, new] = [&EC_1, &ED_1].map(|key| key.sign(service(BOTH).claims()));
    assert_eq!((opens(old.clone()).await, opens(new.clone()).await), (Code::Ok, Code::Unauthenticated));
    fs::write(&file, key_set([ED_1.jwk()])).expect("a file");
    served.hang_up();
    served.wait_for_log("keys reloaded").await;
    assert_eq!((opens(old).await, opens(new).await), (Code::Unauthenticated, Code::Ok));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_of_the_url_lets_its_first_call_in() {
    let issuer = Issuer::start(keys(&[&EC_1])).await;
    let served = history(&[("auth.hs256_secret", ""), ("auth.jwks_url", &issuer.url())]);
    let opens = async |token: String| {
        let request = super::wire::OpenRequest { mid: Some(MID), sub: String::new() };
        client(&served, Some(token)).await.open(request).await.map_or_else(|status| status.code(), |_| Code::Ok)
    };
    let [old, new] = [&EC_1, &ED_1].map(|key| key.sign(service(BOTH).claims()));
    assert_eq!(opens(old).await, Code::Ok);
    issuer.answers(keys(&[&ED_1]));
    assert_eq!(opens(new).await, Code::Ok);
}

#[test]
fn without_a_grpc_listener_there_is_nothing_to_serve() {
    let failed = TestGateway::fails_as(ROLE, &[]);
    assert_eq!(failed.code, Some(BAD_CONFIGURATION), "{failed:?}");
    let said = "grpc.listen: is empty, so there is no history service; ";
    assert!(failed.stderr.contains(&format!("heartline: {said}")), "{failed:?}");
    let (code, told) = check(ROLE, &[]);
    assert_eq!((code, told.len()), (Some(BAD_CONFIGURATION), 1), "{told:?}");
    assert!(told[0].starts_with(said), "{told:?}");
    // One fault is not told twice.
    let (code, told) = check(ROLE, &[("grpc.listen", "here")]);
    assert_eq!((code, told.len()), (Some(BAD_CONFIGURATION), 1), "{told:?}");
}

#[test]
fn check_config_asks_for_what_the_role_uses_and_for_nothing_else() {
    let connections = ("limits.connections", "4000000000");
    let good = [&[LISTENS, connections], &FOR_CLIENTS[..]].concat();
    assert_eq!(check(ROLE, &good), (Some(0), Vec::new()));
    let (code, told) = check("gateway", &good);
    assert_eq!(code, Some(BAD_CONFIGURATION));
    for says in ["server.listen", "server.tls_cert", "live.geoip", "warning: limits.connections"] {
        assert!(told.iter().any(|line| line.starts_with(says)), "{says}: {told:#?}");
    }

    let bad = [
        ("grpc.listen", "192.0.2.77:7703"),
        ("grpc.tls_cert", "/nonexistent/cert.pem"),
        ("grpc.tls_key", "/nonexistent/key.pem"),
        ("admin.listen", "192.0.2.77:7701"),
        ("control.listen", "192.0.2.77:7702"),
        ("auth.jwks_file", "/nonexistent/keys.json"),
        ("store.data_dir", "/dev/null"),
    ];
    let (code, told) = check(ROLE, &bad);
    assert_eq!((code, told.len()), (Some(BAD_CONFIGURATION), bad.len() - 1), "{told:#?}");
    for says in ["grpc.listen", "grpc.tls_cert", "admin.listen", "control.listen", "auth.jwks_file", "/dev/null"] {
        assert!(told.iter().any(|line| line.contains(says)), "{says}: {told:#?}");
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run gateway-redis"]
async fn a_change_by_the_service_reaches_the_sockets_of_a_gateway() {
    let gateway = TestGateway::on_redis(&[]);
    let served = gateway.neighbour_as(ROLE, &[LISTENS]);
    let mut viewer = gateway.connect(MID).await;
    let mut caller = caller(&served).await;
    let at = now(&mut caller).await;
    put(&mut caller, MID, [beat(1, at)]).await;
    let pushed = viewer.pushed_record().await;
    assert_eq!(pushed["oid"], json!("1"), "{pushed}");
    assert_eq!(viewer.position(1).await, Some(10_000));
    viewer.watch([support::beat(2, at)]).await;
    assert!(get(&mut caller, MID, [2]).await[0].is_some());
    let kick = served.control().post("/v1/kick", &json!({"mid": MID.to_string()})).await;
    assert_eq!((kick.status, viewer.closed().await), (204, 4003));
}
