//! Keys for tests alone, made once with openssl: the private part signs, the JWK goes into a gateway's file.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

pub struct TestKey {
    pub kid: &'static str,
    pub algorithm: Algorithm,
    /// DER in base64; the secret itself for HS256.
    private: &'static str,
    jwk: &'static str,
}

macro_rules! key {
    ($kid:literal, $algorithm:ident) => {
        TestKey {
            kid: $kid,
            algorithm: Algorithm::$algorithm,
            private: include_str!(concat!("keys/", $kid, ".key")),
            jwk: include_str!(concat!("keys/", $kid, ".jwk")),
        }
    };
}

pub const RSA_1: TestKey = key!("rsa-1", RS256);
pub const RSA_2: TestKey = key!("rsa-2", RS256);
pub const EC_1: TestKey = key!("ec-1", ES256);
pub const EC_2: TestKey = key!("ec-2", ES384);
pub const ED_1: TestKey = key!("ed-1", EdDSA);
pub const OCT_1: TestKey = key!("oct-1", HS256);
pub const ALL: [&TestKey; 6] = [&RSA_1, &RSA_2, &EC_1, &EC_2, &ED_1, &OCT_1];

/// The public part of an RSA key of 1024 bits.
pub const RSA_SHORT: &str = include_str!("keys/rsa-short.jwk");

impl TestKey {
    pub fn jwk(&self) -> Value {
        serde_json::from_str(self.jwk).expect("JSON")
    }

    pub fn jwk_without(&self, member: &str) -> Value {
        let mut jwk = self.jwk();
        jwk.as_object_mut().expect("an object").remove(member).expect("a member");
        jwk
    }

    pub fn jwk_with(&self, member: &str, value: impl Into<Value>) -> Value {
        let mut jwk = self.jwk();
        jwk[member] = value.into();
        jwk
    }

    /// A token that names this key.
    pub fn sign(&self, claims: &Value) -> String {
        self.sign_as(Some(self.kid), claims)
    }

    /// A token that names another key, or none.
    pub fn sign_as(&self, kid: Option<&str>, claims: &Value) -> String {
        self.sign_with(self.algorithm, kid, claims)
    }

    /// The same, for another algorithm of such keys.
    pub fn sign_with(&self, algorithm: Algorithm, kid: Option<&str>, claims: &Value) -> String {
        let mut header = Header::new(algorithm);
        header.kid = kid.map(str::to_owned);
        encode(&header, claims, &self.signing_key()).expect("claims can be signed")
    }

    fn signing_key(&self) -> EncodingKey {
        let text: String = self.private.split_whitespace().collect();
        let private = BASE64_STANDARD.decode(text).expect("base64");
        match self.algorithm {
            Algorithm::RS256 => EncodingKey::from_rsa_der(&private),
            Algorithm::ES256 | Algorithm::ES384 => EncodingKey::from_ec_der(&private),
            Algorithm::EdDSA => EncodingKey::from_ed_der(&private),
            _ => EncodingKey::from_secret(&private),
        }
    }
}

/// The text of a JWK set.
pub fn key_set(keys: impl IntoIterator<Item = Value>) -> String {
    json!({"keys": keys.into_iter().collect::<Vec<_>>()}).to_string()
}
