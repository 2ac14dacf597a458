//! Authentication: a token, once per connection or request, becomes an [`Identity`].
//!
//! ```text
//! auth.hs256_secret, or a development key ([`key`]) ─┐
//! auth.jwks_file ([`key_set`], key by key in `jwk`) ─┼▶ [`keyring`]: which key signed it? ─▶ [`token`]: is it valid?
//! auth.jwks_url ([`key_url`], fetched and kept) ─────┘
//! ```
//!
//! Nothing here logs, stores or returns a token it was given.

pub mod authenticator;
mod control_scopes;
mod control_token;
mod jwk;
pub mod kept_secret;
pub mod key;
pub mod key_set;
pub mod key_url;
pub mod keyring;
mod scopes;
pub mod token;
mod token_error;
mod user;

#[cfg(test)]
#[path = "../../../tests/support/keys.rs"]
mod test_keys;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use model::secret::Secret;

pub use control_scopes::ControlScopes;
pub use control_token::{CONTROL_TOKEN, ControlToken};
pub use kept_secret::{KeptSecret, KeptSecretError};
pub use key::{Issued, SigningKey};
pub use key_set::KeySetError;
pub use scopes::Scopes;
pub use token::{Identity, ServiceIdentity, Subject, Verifier};
pub use token_error::TokenError;
pub use user::User;

/// Bytes of an HS256 key, at least: RFC 7518 asks for as many as the hash has.
pub const SECRET_BYTES_MIN: usize = 32;

/// How users are named. A deployment keeps the way that it begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subjects {
    /// By a decimal number of 64 bits.
    #[default]
    Number,
    /// By any text of 1 to 256 bytes.
    Any,
}

/// Which tokens are believed. Each setting is explained, with its default, in `deploy/heartline.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthConfig {
    /// Its bytes are the key; empty = the keys of the JWK set, or else a development key.
    pub hs256_secret: Secret,
    /// A JWK set; empty = none.
    pub jwks_file: PathBuf,
    /// Where a JWK set is published; empty = nowhere.
    pub jwks_url: String,
    /// A file of certificates (PEM) that are trusted there, beside those of the system; empty = none.
    pub jwks_ca: PathBuf,
    /// How often it is fetched, unless the answer says it.
    #[serde(with = "humantime_serde")]
    pub jwks_refresh: Duration,
    /// The text that `aud` must be or contain; empty = not checked.
    pub audience: String,
    /// The text that `iss` must be; empty = not checked.
    pub issuer: String,
    pub subjects: Subjects,
    /// The claim that names the user; empty = `sub`.
    pub user_claim: String,
    /// From `iat` to `exp`, at most; 0 = any time.
    #[serde(with = "humantime_serde")]
    pub token_life_max: Duration,
}

impl AuthConfig {
    /// Tokens of this secret alone, for any audience.
    pub fn of_secret(hs256_secret: Secret) -> Self {
        AuthConfig {
            hs256_secret,
            jwks_file: PathBuf::new(),
            jwks_url: String::new(),
            jwks_ca: PathBuf::new(),
            jwks_refresh: Duration::ZERO,
            audience: String::new(),
            issuer: String::new(),
            subjects: Subjects::Number,
            user_claim: String::new(),
            token_life_max: Duration::ZERO,
        }
    }

    pub fn token_life_max(&self) -> Option<Duration> {
        Some(self.token_life_max).filter(|life| !life.is_zero())
    }

    pub fn jwks_file(&self) -> Option<&Path> {
        Some(self.jwks_file.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    pub fn jwks_url(&self) -> Option<&str> {
        Some(self.jwks_url.as_str()).filter(|url| !url.is_empty())
    }

    /// Whether tokens may be signed by others: a gateway without a secret signs none then.
    pub fn has_key_set(&self) -> bool {
        self.jwks_file().is_some() || self.jwks_url().is_some()
    }
}
