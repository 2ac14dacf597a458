//! Files that are read again without a signal: when an operator asks for it, and when they have changed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::keys::{EC_1, ED_1, RSA_1, TestKey, key_set};
use crate::support::{CONTROL_TOKEN, MID, TestGateway, Token, run, until};

/// A folder of keys as a volume is mounted: the file is behind a link, and the link is replaced as a whole.
struct Volume {
    folder: TempDir,
}

impl Volume {
    fn of(key: &TestKey) -> Self {
        let volume = Volume { folder: tempfile::tempdir().expect("a directory") };
        volume.put(&key_set([key.jwk()]));
        symlink("data/keys.json", volume.file()).expect("a link");
        volume
    }

    fn put(&self, text: &str) {
        let within = |name: &str| self.folder.path().join(name);
        let next = tempfile::tempdir_in(self.folder.path()).expect("a directory").keep();
        fs::write(next.join("keys.json"), text).expect("a file");
        symlink(next, within("data.next")).expect("a link");
        fs::rename(within("data.next"), within("data")).expect("the link is replaced");
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("keys.json")
    }

    fn gateway(&self, every: &str) -> TestGateway {
        TestGateway::with(&[("auth.jwks_file", text_of(&self.file())), ("server.watch_files", every)])
    }
}

fn text_of(path: &Path) -> &str {
    path.to_str().expect("ASCII")
}

async fn lets_in(gateway: &TestGateway, key: &TestKey) -> bool {
    let token = key.sign(Token::of(MID).claims());
    gateway.anonymous_http().bearer(&token).get("/v1/history").await.status == 200
}

fn reload_command(gateway: &TestGateway) -> Output {
    let control = gateway.control_address().to_string();
    run(&["reload"], &[("control.listen", &control), ("control.token", CONTROL_TOKEN)])
}

#[tokio::test]
async fn an_operator_has_the_files_read_again_and_learns_what_came_of_it() {
    let volume = Volume::of(&RSA_1);
    let gateway = volume.gateway("0s");
    volume.put(&key_set([EC_1.jwk()]));
    assert!(lets_in(&gateway, &RSA_1).await && !lets_in(&gateway, &EC_1).await);
    let answer = gateway.control().send("POST", "/v1/reload", None).await.json();
    assert_eq!(answer, json!({"reloaded": ["keys"]}));
    assert!(!lets_in(&gateway, &RSA_1).await && lets_in(&gateway, &EC_1).await);

    volume.put("{");
    let refused = gateway.control().send("POST", "/v1/reload", None).await.problem(409, "conflict");
    let detail = refused["detail"].as_str().expect("a detail");
    assert!(detail.starts_with("keys: auth.jwks_file: ") && detail.ends_with("stays in force"), "{detail}");
    assert!(lets_in(&gateway, &EC_1).await);
    let said = reload_command(&gateway);
    let complaint = String::from_utf8(said.stderr).expect("UTF-8");
    assert!(said.status.code() == Some(78) && complaint.contains("is not a JWK set"), "{complaint}");

    volume.put(&key_set([ED_1.jwk()]));
    let said = reload_command(&gateway);
    assert_eq!((said.status.code(), said.stdout), (Some(0), b"keys reloaded\n".to_vec()));
    assert!(lets_in(&gateway, &ED_1).await);

    gateway.control().post("/v1/reload", &json!({})).await.problem(400, "invalid");
    gateway.control().send("POST", "/v1/reload?what=keys", None).await.problem(400, "invalid");
    gateway.admin().send("POST", "/v1/reload", None).await.problem(404, "not_found");
}

#[tokio::test]
async fn a_file_that_has_changed_is_read_without_a_word() {
    let volume = Volume::of(&RSA_1);
    let gateway = volume.gateway("1s");
    volume.put(&key_set([EC_1.jwk()]));
    until("the new keys", async || lets_in(&gateway, &EC_1).await).await;
    assert!(!lets_in(&gateway, &RSA_1).await);
    // One that cannot be used is said once, and its repair is noticed.
    volume.put("{");
    gateway.wait_for_log("keys_reload_failed").await;
    assert!(lets_in(&gateway, &EC_1).await);
    gateway.shows_a_failed_reload_of("keys").await;
    fs::write(volume.file(), key_set([ED_1.jwk()])).expect("a file that is written in place");
    until("the repaired keys", async || lets_in(&gateway, &ED_1).await).await;
    gateway.shows_no_failed_reload_of("keys").await;
    let log = gateway.log();
    assert_eq!(log.matches("event=\"keys_reload_failed\"").count(), 1, "{log}");
    assert_eq!(log.matches("event=\"files_changed\"").count(), 3, "{log}");
}

#[tokio::test]
async fn files_that_stay_the_same_are_read_once() {
    let volume = Volume::of(&RSA_1);
    let gateway = volume.gateway("1s");
    // By then it has looked several times.
    let mut seen: Vec<Value> = Vec::new();
    until("three seconds of the gateway's clock", async || {
        seen.push(gateway.control().get("/v1/clock").await.json()["wall"].clone());
        let ends = [seen.first(), seen.last()].map(|wall| wall.and_then(Value::as_u64).unwrap_or_default());
        ends[1] - ends[0] > 3_000
    })
    .await;
    assert!(!gateway.log().contains("reloaded"), "{}", gateway.log());
}
