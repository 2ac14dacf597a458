//! Who somebody is: a token, once per connection or request, becomes an [`Identity`].
//!
//! The key is configured, or made for development ([`key`]); tokens are judged in [`token`]. Nothing here logs, stores
//! or returns a token it was given.

pub mod gate;
pub mod key;
pub mod token;

use serde::Deserialize;

use crate::model::secret::Secret;

pub use key::{Issued, KeyError, SigningKey};
pub use token::{Identity, TokenError, Verifier};

/// Bytes of an HS256 key, at least: RFC 7518 asks for as many as the hash has.
pub const SECRET_BYTES_MIN: usize = 32;

/// Which tokens are believed. Each setting is explained, with its default, in `deploy/heartline.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthConfig {
    /// Its bytes are the key; empty = a development key.
    pub hs256_secret: Secret,
    /// What `aud` must be or contain; empty = not checked.
    pub audience: String,
    /// What `iss` must be; empty = not checked.
    pub issuer: String,
}
