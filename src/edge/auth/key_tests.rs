//! The key of one gateway, made and kept.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::auth::{Scopes, Subject, Verifier};

const NOW_MS: u64 = 1_795_150_000_123;

fn config(secret: &str) -> AuthConfig {
    AuthConfig { audience: "heartline".to_owned(), ..AuthConfig::of_secret(Secret::new(secret.to_owned())) }
}

fn load(config: &AuthConfig, data_dir: &Path) -> Result<SigningKey, KeptSecretError> {
    SigningKey::load(config, data_dir).map(|key| key.expect("a key that signs"))
}

#[test]
fn an_issued_token_is_accepted_with_the_same_settings() {
    let config = config("a-key-for-tests-only-0123456789abcdef");
    let key = load(&config, Path::new("/nowhere")).expect("a configured key");
    assert_eq!(key.development(), None);
    let issued = key.issue(UserId(u64::MAX), Duration::from_secs(3600), NOW_MS);
    let identity =
        Verifier::new(&config, Some(&key)).expect("keys").verify(&issued.token, NOW_MS).expect("a good token");
    assert_eq!(identity.subject, Subject::Number(UserId(u64::MAX)));
    assert_eq!(identity.expires_ms, issued.expires_ms);
    assert_eq!(issued.expires_ms, 1_795_153_600_000);
}

#[test]
fn a_development_key_is_made_once_and_is_for_the_owner_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let data_dir = dir.path().join("not/yet/there");
    let first = load(&config(""), &data_dir).expect("a new key");
    let second = load(&config(""), &data_dir).expect("the same key");
    assert_eq!(first.bytes(), second.bytes());
    let path = first.development().expect("a development key");
    assert_eq!(first.bytes().len(), 43);
    assert_eq!(path, DEVELOPMENT_KEY.path(&data_dir));
    assert_eq!(fs::metadata(path).expect("the file").permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&data_dir).expect("the directory").permissions().mode() & 0o777, 0o700);
}

#[test]
fn concurrent_first_starts_share_one_development_key() {
    let dir = tempfile::tempdir().expect("a directory");
    let keys: Vec<_> = std::thread::scope(|scope| {
        let key = || load(&config(""), dir.path()).expect("a key").bytes().to_vec();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(key)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]));
}

#[test]
fn a_damaged_development_key_is_refused_and_shown_nowhere() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(DEVELOPMENT_KEY.path(dir.path()), "tooshort\n").expect("a file");
    let error = load(&config(""), dir.path()).expect_err("a short key");
    assert!(matches!(error, KeptSecretError::Short { .. }));
    assert!(!error.to_string().contains("tooshort"));
}

#[test]
fn a_directory_that_cannot_be_used_is_named() {
    let error = load(&config(""), Path::new("/dev/null/data")).expect_err("no directory");
    assert!(error.to_string().contains("/dev/null/data/development-key"), "{error}");
}

#[test]
fn with_a_key_set_and_no_secret_nothing_is_signed() {
    let dir = tempfile::tempdir().expect("a directory");
    let config = AuthConfig { jwks_file: "/etc/keys.json".into(), ..config("") };
    assert!(SigningKey::load(&config, dir.path()).expect("no key is no error").is_none());
    assert!(!DEVELOPMENT_KEY.path(dir.path()).exists(), "no gateway would accept a development key");
}

#[test]
fn an_issued_token_lives_no_longer_than_token_life_max() {
    let config =
        AuthConfig { token_life_max: Duration::from_secs(60), ..config("a-key-for-tests-only-0123456789abcdef") };
    let key = load(&config, Path::new("/nowhere")).expect("a configured key");
    let issued = key.issue(UserId(42), Duration::from_secs(3_600), NOW_MS);
    assert!(Verifier::new(&config, Some(&key)).expect("keys").verify(&issued.token, NOW_MS).is_ok());
}

#[test]
fn the_token_of_a_service_is_no_token_of_a_user() {
    let config = config("a-key-for-tests-only-0123456789abcdef");
    let key = load(&config, Path::new("/nowhere")).expect("a configured key");
    let verifier = Verifier::new(&config, Some(&key)).expect("keys");
    let scopes = Scopes { read: true, ..Scopes::default() };
    let issued = key.issue_service("42", scopes, Duration::from_secs(3600), NOW_MS);
    let service = verifier.verify_service(&issued.token, NOW_MS).expect("a service");
    assert_eq!((service.name.as_str(), service.scopes), ("42", scopes));
    assert_eq!(verifier.verify(&issued.token, NOW_MS), Err(crate::auth::TokenError::OfService));
    let of_user = key.issue(UserId(42), Duration::from_secs(3600), NOW_MS);
    let user = verifier.verify_service(&of_user.token, NOW_MS).expect("a good token");
    assert_eq!((user.name.as_str(), user.scopes), ("42", Scopes::default()));
}
