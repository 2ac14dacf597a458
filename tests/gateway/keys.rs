//! Keys in a file: which tokens they let in, and their change while the gateway serves.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::keys::{ALL, EC_1, ED_1, RSA_1, RSA_2, RSA_SHORT, TestKey, key_set};
use crate::support::{MID, TestGateway, Token, run, until};

/// A key set that can be changed.
struct KeyFile {
    path: PathBuf,
    _dir: TempDir,
}

impl KeyFile {
    fn of(keys: impl IntoIterator<Item = Value>) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let file = KeyFile { path: dir.path().join("keys.json"), _dir: dir };
        file.write(&key_set(keys));
        file
    }

    fn write(&self, text: &str) {
        fs::write(&self.path, text).expect("a file of keys");
    }

    fn path(&self) -> &str {
        self.path.to_str().expect("ASCII")
    }

    /// A gateway that knows these keys and no secret.
    fn gateway(&self) -> TestGateway {
        TestGateway::with(&[("auth.hs256_secret", ""), ("auth.jwks_file", self.path())])
    }
}

fn token(key: &TestKey) -> String {
    key.sign(Token::of(MID).claims())
}

async fn accepted(gateway: &TestGateway, token: &str) {
    gateway.upgrade().bearer(token).welcomed().await.still_serves().await;
}

/// The cause, which the reason of the close and the answer over HTTP give.
async fn refused(gateway: &TestGateway, token: &str) -> String {
    assert_eq!(gateway.upgrade().bearer(token).refused().await.status, 401);
    let answer = gateway.anonymous_http().bearer(token).get("/v1/history").await;
    let mut client = gateway.upgrade().token_as_protocol(token).open().await;
    let (code, cause) = client.closed_because().await;
    assert_eq!((code, &answer.problem(401, "unauthorized")["detail"]), (4001, &json!(cause)));
    cause
}

/// SIGHUP, and what the log says then.
async fn reload(gateway: &TestGateway, said: &str) {
    gateway.hang_up();
    gateway.wait_for_log(said).await;
}

const READ_AGAIN: &str = "keys reloaded";
const KEPT: &str = "cannot reload keys";

#[tokio::test]
async fn every_sort_of_key_lets_its_tokens_in() {
    let file = KeyFile::of(ALL.map(TestKey::jwk));
    let gateway = file.gateway();
    assert!(gateway.printed().is_empty(), "no development key: {:?}", gateway.printed());
    for key in ALL {
        accepted(&gateway, &token(key)).await;
        accepted(&gateway, &key.sign_as(None, Token::of(MID).claims())).await;
    }
    refused(&gateway, &RSA_2.sign_as(Some("rsa-1"), Token::of(MID).claims())).await;
    refused(&gateway, &Token::of(MID).sign()).await;
}

#[tokio::test]
async fn a_token_that_is_refused_is_told_whether_by_kid_algorithm_or_signature() {
    let file = KeyFile::of([RSA_1.jwk(), EC_1.jwk()]);
    let gateway = file.gateway();
    let claims = Token::of(MID);
    for (token, cause) in [
        (RSA_1.sign_as(Some("gone"), claims.claims()), "kid unknown"),
        (ED_1.sign(claims.claims()), "kid unknown"),
        (ED_1.sign_as(None, claims.claims()), "algorithm not allowed"),
        (ED_1.sign_as(Some("rsa-1"), claims.claims()), "algorithm not allowed"),
        (RSA_2.sign_as(Some("rsa-1"), claims.claims()), "bad signature"),
        (RSA_2.sign_as(None, claims.claims()), "bad signature"),
    ] {
        assert_eq!(refused(&gateway, &token).await, cause);
    }
}

#[tokio::test]
async fn a_secret_and_a_key_file_are_accepted_together() {
    let file = KeyFile::of([ED_1.jwk()]);
    let gateway = TestGateway::with(&[("auth.jwks_file", file.path())]);
    accepted(&gateway, &Token::of(MID).sign()).await;
    accepted(&gateway, &token(&ED_1)).await;
    refused(&gateway, &token(&EC_1)).await;
}

#[tokio::test]
async fn a_connection_counts_as_one_check_however_many_keys_are_tried() {
    let file = KeyFile::of([RSA_1.jwk(), RSA_2.jwk()]);
    let gateway = file.gateway();
    let token = RSA_2.sign_as(None, Token::of(MID).claims());
    let mut client = gateway.upgrade().bearer(&token).welcomed().await;
    client.still_serves().await;
    assert_eq!(gateway.metric(r#"heartline_auth_checks_total{result="ok"}"#).await, 1.0);
    assert_eq!(gateway.metric(r#"heartline_auth_checks_total{result="refused"}"#).await, 0.0);
}

#[tokio::test]
async fn a_new_key_file_applies_at_sighup_and_closes_no_connection() {
    let file = KeyFile::of([RSA_1.jwk()]);
    let gateway = file.gateway();
    let mut early = gateway.upgrade().bearer(&token(&RSA_1)).welcomed().await;
    file.write(&key_set([RSA_1.jwk(), EC_1.jwk()]));
    refused(&gateway, &token(&EC_1)).await;
    reload(&gateway, READ_AGAIN).await;
    accepted(&gateway, &token(&RSA_1)).await;
    accepted(&gateway, &token(&EC_1)).await;

    file.write(&key_set([EC_1.jwk()]));
    gateway.hang_up();
    until("the end of the old key", async || gateway.upgrade().bearer(&token(&RSA_1)).attempt().await.is_err()).await;
    early.still_serves().await;
    early.call(json!({"token": {"token": token(&EC_1)}})).await;
}

#[tokio::test]
async fn keys_for_something_else_are_skipped_with_one_warning_at_start_and_reload() {
    let encrypts = || RSA_2.jwk_with("use", "enc");
    let file = KeyFile::of([RSA_1.jwk(), encrypts(), ED_1.jwk_with("kty", "AKP")]);
    let gateway = file.gateway();
    accepted(&gateway, &token(&RSA_1)).await;
    refused(&gateway, &token(&RSA_2)).await;
    file.write(&key_set([EC_1.jwk(), encrypts()]));
    reload(&gateway, READ_AGAIN).await;
    accepted(&gateway, &token(&EC_1)).await;
    let log = gateway.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("keys_skipped")).collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains("WARN") && line.contains("rsa-2")), "{log}");
    assert!(lines[0].contains("ed-1") && !lines[1].contains("ed-1"), "{log}");
}

#[tokio::test]
async fn a_file_that_cannot_be_used_changes_nothing_and_is_logged_once() {
    let file = KeyFile::of([RSA_1.jwk()]);
    let gateway = file.gateway();
    let mut early = gateway.upgrade().bearer(&token(&RSA_1)).welcomed().await;
    file.write(&key_set([EC_1.jwk(), ED_1.jwk_with("x", "AQAB")]));
    reload(&gateway, KEPT).await;
    let log = gateway.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(KEPT)).collect();
    assert!(lines.len() == 1 && lines[0].contains("ERROR") && lines[0].contains("ed-1"), "{log}");
    accepted(&gateway, &token(&RSA_1)).await;
    refused(&gateway, &token(&EC_1)).await;
    early.still_serves().await;
}

#[tokio::test]
async fn without_a_file_sighup_ends_nothing() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    reload(&gateway, READ_AGAIN).await;
    client.still_serves().await;
}

#[test]
fn a_key_that_cannot_be_used_stops_the_start_and_is_named() {
    let short: Value = serde_json::from_str(RSA_SHORT).expect("JSON");
    for (jwk, kid) in [(short, "rsa-short"), (RSA_1.jwk_with("e", "AQ"), "rsa-1")] {
        let file = KeyFile::of([EC_1.jwk(), jwk]);
        let failed = TestGateway::fails_with(&[("auth.jwks_file", file.path())]);
        assert_eq!(failed.code, Some(78), "{failed:?}");
        let told: Vec<&str> = failed.stderr.lines().filter(|line| line.starts_with("heartline: ")).collect();
        assert!(told.len() == 1 && told[0].contains(kid) && told[0].contains(file.path()), "{failed:?}");
        let checked = run(&["check-config"], &[("auth.jwks_file", file.path())]);
        assert_eq!(checked.status.code(), Some(78));
    }
}

#[tokio::test]
async fn a_gateway_with_public_keys_only_signs_no_token_and_says_why() {
    let file = KeyFile::of([RSA_1.jwk()]);
    let settings = [("auth.hs256_secret", ""), ("auth.jwks_file", file.path())];
    let output = run(&["token", "--mid", "42"], &settings);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(78), 0));
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(told.lines().count() == 1 && told.contains("auth.hs256_secret"), "{told}");

    let gateway = file.gateway();
    let answer = gateway.anonymous_http().post("/demo/token", &json!({"mid": "42"})).await;
    let problem = answer.problem(404, "not_found");
    assert!(problem["detail"].as_str().expect("a detail").contains("auth.hs256_secret"), "{problem}");
    assert_eq!(gateway.anonymous_http().get("/").await.status, 200);
}
