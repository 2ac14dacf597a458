//! Which key a token is checked with.

use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::auth::jwk::Jwk;
use crate::auth::test_keys::{ALL, EC_1, ED_1, OCT_1, RSA_1, RSA_2, TestKey};

fn ring(jwks: impl IntoIterator<Item = Value>) -> Keyring {
    let key = |jwk: Value| {
        let jwk = Jwk::deserialize(&jwk).expect("a JWK");
        let (algorithm, key) = jwk.read().expect("a usable key");
        CheckingKey::new(jwk.kid, algorithm, key)
    };
    Keyring::new(jwks.into_iter().map(key).collect())
}

fn judge(ring: &Keyring, token: &str) -> Result<Value, TokenError> {
    ring.claims(token)
}

fn claims() -> Value {
    json!({"sub": "42"})
}

#[test]
fn every_sort_of_key_checks_its_own_tokens_and_no_others() {
    for key in ALL {
        let ring = ring([key.jwk()]);
        assert_eq!(judge(&ring, &key.sign(&claims())), Ok(claims()), "{}", key.kid);
        for other in ALL.into_iter().filter(|other| other.kid != key.kid) {
            assert!(judge(&ring, &other.sign_as(Some(key.kid), &claims())).is_err(), "{} as {}", other.kid, key.kid);
        }
    }
}

#[test]
fn an_rsa_key_is_for_the_algorithm_that_it_names() {
    use Algorithm::{PS256, PS384, PS512, RS256, RS384, RS512};
    let algorithms =
        [("RS256", RS256), ("RS384", RS384), ("RS512", RS512), ("PS256", PS256), ("PS384", PS384), ("PS512", PS512)];
    for (name, algorithm) in algorithms {
        let ring = ring([RSA_1.jwk_with("alg", name)]);
        let with = |algorithm| judge(&ring, &RSA_1.sign_with(algorithm, Some("rsa-1"), &claims()));
        assert_eq!(with(algorithm), Ok(claims()), "{name}");
        for (_, other) in algorithms.into_iter().filter(|(_, other)| *other != algorithm) {
            assert_eq!(with(other), Err(TokenError::Algorithm), "{other:?} with a key for {name}");
        }
    }
}

#[test]
fn a_kid_means_one_key() {
    let ring = ring(ALL.map(TestKey::jwk));
    for key in ALL {
        assert_eq!(judge(&ring, &key.sign(&claims())), Ok(claims()));
    }
    assert_eq!(judge(&ring, &RSA_2.sign_as(Some("rsa-1"), &claims())), Err(TokenError::Signature));
    assert_eq!(judge(&ring, &RSA_2.sign_as(Some("ec-1"), &claims())), Err(TokenError::Algorithm));
}

#[test]
fn an_unknown_kid_is_checked_by_keys_without_a_kid_only() {
    let named = ring([RSA_1.jwk(), RSA_2.jwk()]);
    assert_eq!(judge(&named, &RSA_1.sign_as(Some("gone"), &claims())), Err(TokenError::UnknownKid));
    let nameless = ring([RSA_1.jwk_without("kid"), RSA_2.jwk()]);
    assert_eq!(judge(&nameless, &RSA_1.sign_as(Some("gone"), &claims())), Ok(claims()));
    assert_eq!(judge(&nameless, &RSA_2.sign_as(Some("gone"), &claims())), Err(TokenError::Signature));
}

#[test]
fn a_token_without_a_kid_is_checked_by_every_key_of_its_algorithm() {
    let ring = ring([EC_1.jwk(), RSA_1.jwk(), RSA_2.jwk_without("kid"), OCT_1.jwk()]);
    for key in [&EC_1, &RSA_1, &RSA_2, &OCT_1] {
        assert_eq!(judge(&ring, &key.sign_as(None, &claims())), Ok(claims()), "{}", key.kid);
    }
    assert_eq!(judge(&ring, &ED_1.sign_as(None, &claims())), Err(TokenError::Algorithm));
}

#[test]
fn at_most_eight_keys_are_tried() {
    let token = RSA_1.sign_as(None, &claims());
    let after = |others: usize| {
        let others = (0..others).map(|n| RSA_2.jwk_with("kid", n.to_string()));
        ring(others.chain([EC_1.jwk(), RSA_1.jwk()]))
    };
    assert_eq!(judge(&after(TRIED_MAX - 1), &token), Ok(claims()));
    assert_eq!(judge(&after(TRIED_MAX), &token), Err(TokenError::Signature));
}

/// An RSA public key must not be accepted as the secret of HS256.
#[test]
fn a_public_key_is_no_secret() {
    let ring = ring([RSA_1.jwk()]);
    let public = RSA_1.jwk()["n"].as_str().expect("a modulus").to_owned();
    for kid in [None, Some("rsa-1")] {
        let mut header = Header::new(Algorithm::HS256);
        header.kid = kid.map(str::to_owned);
        let key = jsonwebtoken::EncodingKey::from_secret(public.as_bytes());
        let token = jsonwebtoken::encode(&header, &claims(), &key).expect("claims can be signed");
        assert_eq!(judge(&ring, &token), Err(TokenError::Algorithm));
    }
}
