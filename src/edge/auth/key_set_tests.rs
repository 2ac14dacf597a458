//! Which keys of a set can be used, and what is said of the others.

use serde_json::{Value, json};

use super::*;
use crate::auth::test_keys::{EC_1, EC_2, ED_1, OCT_1, RSA_1, RSA_2, RSA_SHORT, key_set};

fn of_file(text: &str) -> Result<KeySet, Reason> {
    keys_of(text, Origin::File)
}

fn reason(text: &str) -> Reason {
    match of_file(text) {
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
    for key in [&RSA_1, &EC_1, &EC_2, &ED_1, &OCT_1] {
        for jwk in [key.jwk(), key.jwk_without("alg"), key.jwk_without("use"), key.jwk_without("kid")] {
            assert!(of_file(&key_set([jwk.clone()])).is_ok(), "{jwk}");
        }
        assert!(of_file(&key_set([key.jwk_with("key_ops", json!(["sign", "verify"]))])).is_ok());
        assert!(of_file(&key_set([key.jwk_with("x5t", "ignored")])).is_ok());
    }
}

/// One key is left out, named with a reason that says `word`; the other one is used.
fn skipped(jwk: Value, word: &str) {
    let set =
        of_file(&key_set([EC_1.jwk_with("kid", "good"), jwk.clone()])).unwrap_or_else(|why| panic!("{jwk}: {why}"));
    assert_eq!(set.keys.iter().filter_map(|key| key.kid.as_deref()).collect::<Vec<_>>(), ["good"]);
    let warning = set.warning(&origin_of(Path::new("/keys.json"))).expect("a warning");
    let named = jwk["kid"].as_str().map_or("key number 2: ".to_owned(), |kid| format!("key {kid:?}: "));
    assert!(warning.starts_with(&format!("auth.jwks_file: /keys.json: skipped {named}")), "{warning}");
    assert!(warning.contains(word) && !warning.contains('\n'), "{warning}");
    let alone = reason(&key_set([jwk]));
    assert!(alone.starts_with("has no key that can be used: ") && alone.contains(word), "{alone}");
}

#[test]
fn a_key_for_something_else_is_skipped() {
    skipped(RSA_1.jwk_with("use", "enc"), "\"enc\"");
    skipped(RSA_1.jwk_with("key_ops", json!(["encrypt"])), "key_ops");
    skipped(RSA_1.jwk_with("alg", "RSA-OAEP"), "RSA-OAEP");
    skipped(EC_1.jwk_with("alg", "ES384"), "ES384");
    skipped(OCT_1.jwk_with("alg", "HS512"), "HS512");
    skipped(EC_1.jwk_with("crv", "P-521"), "P-521");
    skipped(ED_1.jwk_with("crv", "X25519"), "X25519");
    skipped(ED_1.jwk_with("kty", "DSA"), "DSA");
    let mut nameless = ED_1.jwk_with("kty", "AKP");
    nameless.as_object_mut().expect("an object").remove("kid");
    skipped(nameless, "AKP");
}

#[test]
fn a_private_key_is_refused_whatever_it_is_for() {
    refused(RSA_1.jwk_with("d", "AQAB"), "private key");
    let mut private = RSA_1.jwk_with("d", "AQAB");
    private["use"] = json!("enc");
    refused(private, "private key");
}

#[test]
fn a_weak_or_broken_key_is_refused() {
    refused(serde_json::from_str(RSA_SHORT).expect("JSON"), "1024 bits");
    refused(RSA_1.jwk_with("n", "A".repeat(1_400)), "0 bits");
    refused(RSA_1.jwk_with("e", "AQ"), "no public key");
    refused(RSA_1.jwk_with("e", "AQAA"), "no public key");
    refused(RSA_1.jwk_with("e", "AQAB=="), "base64url");
    refused(RSA_1.jwk_without("n"), "n is missing");
    refused(ED_1.jwk_without("kty"), "missing");
    refused(EC_1.jwk_without("crv"), "missing");
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
    assert!(of_file(&key_set((0..64).map(|kid| EC_1.jwk_with("kid", kid.to_string())))).is_ok());
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

#[test]
fn of_a_published_set_all_that_cannot_be_used_is_skipped() {
    let private = EC_1.jwk_with("d", "AAAA");
    let broken = RSA_2.jwk_with("n", "AQAB");
    let again = ED_1.jwk_with("kid", "rsa-1");
    let published = key_set([RSA_1.jwk(), private, OCT_1.jwk(), broken, again, json!("no key")]);
    let set = of_url(&published).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(set.keys.iter().filter_map(|key| key.kid.as_deref()).collect::<Vec<_>>(), ["rsa-1"]);
    let warning = set.warning("auth.jwks_url: https://id.example/keys").expect("a warning");
    for said in ["\"ec-1\": it is a private key", "\"oct-1\": it is a secret", "bits", "the same kid", "key number 6"] {
        assert!(warning.contains(said), "{said}: {warning}");
    }
    assert!(of_url(&key_set([OCT_1.jwk()])).is_err_and(|why| why.starts_with("has no key that can be used")));
}
