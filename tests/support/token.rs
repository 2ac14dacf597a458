//! Tokens as an app's own backend would make them.

use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

/// The key every test gateway is configured with.
pub const SECRET: &str = "a-key-for-tests-only-0123456789abcdef";

/// What every test gateway asks of callers of its control listener.
pub const CONTROL_TOKEN: &str = "a-control-token-for-tests-0123456789";

pub fn unix_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("a clock after 1970").as_secs() as i64
}

/// The claims of a token that is not signed yet.
#[derive(Clone)]
pub struct Token(Value);

impl Token {
    /// Good for an hour.
    pub fn of(mid: u64) -> Self {
        Self(json!({"sub": mid.to_string(), "exp": unix_seconds() + 3600}))
    }

    pub fn claim(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0[name] = value.into();
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.0.as_object_mut().expect("claims").remove(name);
        self
    }

    /// Negative: expired so long ago.
    pub fn expires_in(self, seconds: i64) -> Self {
        self.claim("exp", unix_seconds() + seconds)
    }

    pub fn expires_at(&self) -> i64 {
        self.0["exp"].as_i64().expect("exp")
    }

    pub fn claims(&self) -> &Value {
        &self.0
    }

    pub fn sign(&self) -> String {
        self.sign_with(Algorithm::HS256, SECRET)
    }

    pub fn sign_with(&self, algorithm: Algorithm, secret: &str) -> String {
        let key = EncodingKey::from_secret(secret.as_bytes());
        encode(&Header::new(algorithm), &self.0, &key).expect("claims can be signed")
    }
}
