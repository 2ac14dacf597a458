//! The key that tokens are signed with here: configured, or made for development and kept beside the data.
//!
//! A gateway that is given a JWK set and no secret signs nothing: its tokens are made elsewhere.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde::Serialize;

use super::AuthConfig;
use super::kept_secret::{KeptSecret, KeptSecretError};
use model::ids::UserId;
use model::secret::Secret;
use model::user_name::UserName;

/// Made when no key is configured.
pub const DEVELOPMENT_KEY: KeptSecret =
    KeptSecret { name: "development key", file: "development-key", setting: "auth.hs256_secret" };

/// Why this gateway signs no tokens.
pub const SIGNS_NOTHING: &str = "no token can be signed here: auth.hs256_secret is empty, and the keys of a JWK set \
                                 (auth.jwks_file, auth.jwks_url) only check";

/// Signs tokens that the [`Verifier`](super::Verifier) of the same settings accepts.
#[derive(Debug)]
pub struct SigningKey {
    secret: Secret,
    audience: String,
    issuer: String,
    /// No token is made that would be refused for its length.
    ttl_max: Duration,
    /// Where a development key is kept.
    kept_at: Option<PathBuf>,
}

/// A token made here.
pub struct Issued {
    pub token: String,
    /// Its `exp`, milliseconds since 1970 by the wall clock.
    pub expires_ms: u64,
}

#[derive(Serialize)]
struct Claims<'a> {
    sub: String,
    /// Seconds since 1970, as is `exp`.
    iat: u64,
    exp: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    aud: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    iss: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    scope: &'a str,
}

impl SigningKey {
    /// The configured key, or else the development key of this data directory, made on first use. `None` when tokens
    /// are [only checked](SIGNS_NOTHING).
    pub fn load(config: &AuthConfig, data_dir: &Path) -> Result<Option<Self>, KeptSecretError> {
        let (audience, issuer) = (config.audience.clone(), config.issuer.clone());
        let ttl_max = config.token_life_max().unwrap_or(TTL_MAX).min(TTL_MAX);
        if !config.hs256_secret.is_empty() {
            let secret = config.hs256_secret.clone();
            return Ok(Some(SigningKey { secret, audience, issuer, ttl_max, kept_at: None }));
        }
        if config.has_key_set() {
            return Ok(None);
        }
        let secret = DEVELOPMENT_KEY.load(data_dir)?;
        Ok(Some(SigningKey { secret, audience, issuer, ttl_max, kept_at: Some(DEVELOPMENT_KEY.path(data_dir)) }))
    }

    /// Whether [`SigningKey::load`] would make no key: one is configured, or made before.
    pub fn exists(config: &AuthConfig, data_dir: &Path) -> bool {
        let made = || std::fs::metadata(DEVELOPMENT_KEY.path(data_dir)).is_ok_and(|file| file.len() > 0);
        !config.hs256_secret.is_empty() || config.has_key_set() || made()
    }

    /// Where this key is kept, if it is a development key; `None` when a key is configured.
    pub fn development(&self) -> Option<&Path> {
        self.kept_at.as_deref()
    }

    /// Whether the key is this secret.
    pub fn is(&self, secret: &Secret) -> bool {
        self.secret == *secret
    }

    /// A token of this user, good for `ttl` (in whole seconds, at least one, and no longer than tokens may live) from
    /// `wall_now_ms`, milliseconds since 1970 by the wall clock.
    pub fn issue(&self, user: UserId, ttl: Duration, wall_now_ms: u64) -> Issued {
        self.sign(user.0.to_string(), "", ttl, wall_now_ms)
    }

    /// The same of a user who is named by a text.
    pub fn issue_named(&self, name: &UserName, ttl: Duration, wall_now_ms: u64) -> Issued {
        self.sign(name.as_str().to_owned(), "", ttl, wall_now_ms)
    }

    /// The same of a service with this name. `scope`: words with a space between.
    pub fn issue_service(&self, name: &str, scope: impl Display, ttl: Duration, wall_now_ms: u64) -> Issued {
        self.sign(name.to_owned(), &scope.to_string(), ttl, wall_now_ms)
    }

    fn sign(&self, sub: String, scope: &str, ttl: Duration, wall_now_ms: u64) -> Issued {
        let iat = wall_now_ms / 1000;
        let exp = iat.saturating_add(ttl.min(self.ttl_max).as_secs().max(1));
        let claims = Claims { sub, iat, exp, aud: &self.audience, iss: &self.issuer, scope };
        let key = EncodingKey::from_secret(self.bytes());
        let token = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &key)
            .expect("claims of text and numbers can be written and signed");
        Issued { token, expires_ms: exp.saturating_mul(1000) }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.secret.expose().as_bytes()
    }
}

/// A thousand years: dates stay exact in every reader's numbers.
const TTL_MAX: Duration = Duration::from_secs(1_000 * 365 * 24 * 3_600);

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
