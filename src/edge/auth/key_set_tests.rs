//! Which keys of a set can be used, and what is said of the others.

use serde_json::{Value, json};

use super::*;
use crate::edge::auth::test_keys::{EC_1, ED_1, OCT_1, RSA_1, RSA_2, RSA_SHORT, key_set};

fn reason(text: &str) -> Reason {
    match keys_of(text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(why) => why,
    }
}

/// One key is refused, named, and for a reason that says `word`.
fn refused(jwk: Value, word: &str) {
    let why = reason(&key_set([EC_1.jwk_with("kid", "good"), jwk.clone()]));
    let named = jwk["kid"].as_str().map_or("key number 2: ".to_owned(), |kid| format!("key {kid:?}: "));
    assert!(why.starts_with(&named) && why.contains(word), "{jwk}: {why}");
    assert!(!why.contains('\n'), "{why}");
}

#[test]
fn each_type_of_key_is_accepted_with_and_without_optional_fields() {
    for key in [&RSA_1, &EC_1, &ED_1, &OCT_1] {
        for jwk in [key.jwk(), key.jwk_without("alg"), key.jwk_without("use"), key.jwk_without("kid")] {
            assert!(keys_of(&key_set([jwk.clone()])).is_ok(), "{jwk}");
        }
        assert!(keys_of(&key_set([key.jwk_with("key_ops", json!(["sign", "verify"]))])).is_ok());
        assert!(keys_of(&key_set([key.jwk_with("x5t", "ignored")])).is_ok());
    }
}

#[test]
fn a_key_for_something_else_is_refused() {
    refused(RSA_1.jwk_with("use", "enc"), "\"enc\"");
    refused(RSA_1.jwk_with("key_ops", json!(["encrypt"])), "key_ops");
    refused(RSA_1.jwk_with("alg", "PS256"), "PS256");
    refused(EC_1.jwk_with("alg", "RS256"), "RS256");
    refused(OCT_1.jwk_with("alg", "HS512"), "HS512");
    refused(EC_1.jwk_with("crv", "P-384"), "P-384");
    refused(ED_1.jwk_with("crv", "X25519"), "X25519");
    refused(ED_1.jwk_with("kty", "DSA"), "DSA");
    refused(ED_1.jwk_without("kty"), "missing");
    refused(RSA_1.jwk_with("d", "AQAB"), "private key");
}

#[test]
fn a_weak_or_broken_key_is_refused() {
    refused(serde_json::from_str(RSA_SHORT).expect("JSON"), "1024 bits");
    refused(RSA_1.jwk_with("n", "A".repeat(1_400)), "0 bits");
    refused(RSA_1.jwk_with("e", "AQ"), "no public key");
    refused(RSA_1.jwk_with("e", "AQAA"), "no public key");
    refused(RSA_1.jwk_with("e", "AQAB=="), "base64url");
    refused(RSA_1.jwk_without("n"), "n is missing");
    refused(EC_1.jwk_with("y", EC_1.jwk()["x"].clone()), "no point");
    refused(EC_1.jwk_with("x", "AQAB"), "3 bytes, not 32");
    refused(ED_1.jwk_with("x", "AQAB"), "3 bytes, not 32");
    refused(OCT_1.jwk_with("k", "dG9vIHNob3J0"), "9 bytes");
    refused(OCT_1.jwk_with("k", 5), "not a JWK");
    refused(json!("a string"), "not a JWK");
    refused(EC_1.jwk_without("kid")["x"].clone(), "not a JWK");
}

#[test]
fn a_kid_must_be_short_and_unique() {
    let twice = reason(&key_set([RSA_1.jwk(), RSA_2.jwk_with("kid", RSA_1.kid)]));
    assert!(twice.contains("\"rsa-1\"") && twice.contains("same kid"), "{twice}");
    for kid in [String::new(), "k".repeat(257)] {
        assert!(reason(&key_set([RSA_1.jwk_with("kid", kid)])).starts_with("key number 1: its kid"));
    }
}

#[test]
fn a_set_has_from_1_to_64_keys() {
    assert!(reason(&key_set([])).contains("0 keys"));
    assert!(keys_of(&key_set((0..64).map(|kid| EC_1.jwk_with("kid", kid.to_string())))).is_ok());
    assert!(reason(&key_set((0..65).map(|kid| EC_1.jwk_with("kid", kid.to_string())))).contains("65 keys"));
}

#[test]
fn a_text_that_is_no_key_set_is_refused_and_not_shown() {
    let secret = OCT_1.jwk()["k"].as_str().expect("a secret").to_owned();
    for text in ["", "{", "[]", r#"{"key":[]}"#, &format!(r#"{{"keys":"{secret}"}}"#), &format!("{{{secret}}}")] {
        let why = reason(text);
        assert!(why.starts_with("is not a JWK set (line ") && !why.contains(&secret), "{why}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let long = dir.path().join("long.json");
    fs::write(&long, " ".repeat(FILE_BYTES_MAX as usize + 1)).expect("a file");
    for (path, word) in
        [(dir.path(), "regular file"), (long.as_path(), "longer"), (&dir.path().join("none"), "No such")]
    {
        let error = load(path).err().expect("an error").to_string();
        assert!(error.starts_with("auth.jwks_file: ") && error.contains(word), "{error}");
        assert!(error.contains(path.to_str().expect("ASCII")), "{error}");
    }
}
