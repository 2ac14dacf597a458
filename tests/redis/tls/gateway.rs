//! The gateway on a Redis with TLS: what its clients, `/readyz`, its log and its metrics say.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::authority::{ADDRESS, Authority, EXPIRED, Signed, VALID, text};
use super::server::Encrypted;
use crate::support::{MID, TestGateway, beat, run, until};

/// The longest until `/readyz` and the log name a fault.
const SOON: Duration = Duration::from_secs(10);
const FAILED: &str = r#"heartline_reload_failed{what="redis_certificate"}"#;

/// The settings of a gateway. Its certificate is of the same authority.
struct Site {
    authority: Authority,
    encrypted: Encrypted,
    own: Signed,
    ca: PathBuf,
}

impl Site {
    /// A Redis that asks for certificates, and is prepared.
    fn new() -> Self {
        let authority = Authority::new();
        let encrypted = Encrypted::start(&authority);
        encrypted.server.set("tls-auth-clients", "yes");
        encrypted.let_in("gateway", "right");
        let site = Site { own: authority.sign("gateway.example", VALID), ca: authority.file(), authority, encrypted };
        let done = site.with(&[], |settings| run(&["init"], settings));
        assert!(done.status.success(), "{done:?}");
        site
    }

    fn with<T>(&self, more: &[(&str, &str)], then: impl FnOnce(&[(&str, &str)]) -> T) -> T {
        let url = self.encrypted.url().replace("//", "//gateway:right@");
        let settings = [
            ("store.hot_store", "redis"),
            ("redis.url", &url),
            ("redis.tls_ca", text(&self.ca)),
            ("redis.tls_cert", text(&self.own.certificate)),
            ("redis.tls_key", text(&self.own.key)),
        ];
        then(&[&settings[..], more].concat())
    }

    fn gateway(&self, more: &[(&str, &str)]) -> TestGateway {
        self.with(more, TestGateway::embedded)
    }
}

/// The status of `/readyz`, and what it says.
async fn readyz(gateway: &TestGateway) -> (u16, String) {
    let answer = gateway.admin().get("/readyz").await;
    let body: Value = serde_json::from_str(answer.text()).unwrap();
    let said = ["reasons", "degraded"].map(|field| body[field].to_string());
    (answer.status, said.join(" ").replace("\\\"", "\""))
}

async fn serves(gateway: &TestGateway, oid: u64) {
    until("it is ready", async || readyz(gateway).await.0 == 200).await;
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(oid, at)]).await;
    assert_eq!(client.position(oid).await, Some(10_000));
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn beats_are_stored_and_pushed_between_gateways() {
    let site = Site::new();
    let mut one = site.gateway(&[]);
    let other = site.gateway(&[]);
    let (mut origin, mut device) = (one.connect(MID).await, other.connect(MID).await);
    let at = origin.now();
    origin.watch((0..200).map(|oid| beat(oid, at))).await;
    until("a push", async || device.pushed_record().await["oid"] == "199").await;
    assert_eq!(device.position(199).await, Some(10_000));
    one.restart();
    let mut again = one.connect(MID).await;
    assert_eq!(again.position(100).await, Some(10_000));
    until("commits, reads and messages of each", async || site.encrypted.connections() == 6).await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_fault_is_in_readyz_and_in_the_log_and_ends_by_itself() {
    let (site, stranger) = (Site::new(), Authority::new());
    let gateway = site.gateway(&[]);
    serves(&gateway, 1).await;
    let Site { encrypted, authority, .. } = &site;
    let expired = || encrypted.show(&authority.sign(ADDRESS, EXPIRED));
    let misnamed = || encrypted.show(&authority.sign("redis.example", VALID));
    let unknown = || encrypted.show(&stranger.good());
    let password = || {
        encrypted.let_in("gateway", "another");
        encrypted.hang_up();
    };
    let faults: [(&dyn Fn(), &str); 4] = [
        (&expired, "its certificate has expired; renew it"),
        (&misnamed, "is not for the name \"127.0.0.1\""),
        (&unknown, "is not of an authority in redis.tls_ca"),
        (&password, "does not let this user in"),
    ];
    for (oid, (begin, words)) in (2..).zip(faults) {
        begin();
        let began = Instant::now();
        until(words, async || {
            let (status, said) = readyz(&gateway).await;
            status == 503 && said.contains(words) && gateway.log().replace("\\\"", "\"").contains(words)
        })
        .await;
        assert!(began.elapsed() < SOON, "{words:?} after {:?}", began.elapsed());
        encrypted.let_in("gateway", "right");
        encrypted.show(&authority.good());
        serves(&gateway, oid).await;
    }
    assert!(!gateway.log().contains("another") && !gateway.log().contains(":right@"), "no password is logged");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn certificates_that_are_replaced_are_taken_by_itself() {
    let (site, new) = (Site::new(), Authority::new());
    let gateway = site.gateway(&[("server.watch_files", "1s")]);
    serves(&gateway, 1).await;
    site.encrypted.server.set("tls-ca-cert-file", text(&new.file()));
    site.encrypted.show(&new.good());
    let next = new.sign("gateway.example", VALID);
    fs::copy(new.file(), &site.ca).unwrap();
    fs::copy(&next.certificate, &site.own.certificate).unwrap();
    fs::copy(&next.key, &site.own.key).unwrap();
    gateway.wait_for_log("redis_certificate_reloaded").await;
    serves(&gateway, 2).await;

    fs::write(&site.ca, "no certificate").unwrap();
    gateway.wait_for_metric(FAILED, |failed| failed == 1.0).await;
    let (status, said) = readyz(&gateway).await;
    assert!(status == 200 && said.contains("redis.tls_ca"), "the former ones stay: {said}");
    site.encrypted.hang_up();
    until("new connections", async || site.encrypted.connections() >= 3).await;
    serves(&gateway, 3).await;
    fs::copy(new.file(), &site.ca).unwrap();
    gateway.wait_for_metric(FAILED, |failed| failed == 0.0).await;
    assert_eq!(gateway.admin().get("/readyz").await.text(), r#"{"ready":true}"#);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_start_ends_with_the_fault_and_check_config_finds_bad_files() {
    let (site, stranger) = (Site::new(), Authority::new());
    let file = stranger.file();
    let failed = site.with(&[("redis.tls_ca", text(&file))], TestGateway::fails_with);
    let said = "is not of an authority in redis.tls_ca";
    assert!(failed.code == Some(78) && failed.stderr.contains(said), "{}", failed.stderr);
    let missing = [("redis.tls_ca", "/nowhere/ca.pem")];
    let failed = site.with(&missing, TestGateway::fails_with);
    assert!(failed.code == Some(78) && failed.stderr.contains("redis.tls_ca = "), "{}", failed.stderr);
    let checked = site.with(&missing, |settings| run(&["check-config"], settings));
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(checked.status.code() == Some(78) && said.contains("redis.tls_ca = \"/nowhere/ca.pem\""), "{said}");
    let checked = site.with(&[], |settings| run(&["check-config"], settings));
    assert!(checked.status.success(), "{checked:?}");
}
