//! The key that tokens are signed with here: configured, or made for development and kept beside the data.
//!
//! A gateway that is given a JWK set and no secret signs nothing: its tokens are made elsewhere.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde::Serialize;

use super::{AuthConfig, SECRET_BYTES_MIN};
use crate::model::ids::UserId;
use crate::model::secret::Secret;

/// In the data directory.
pub const DEVELOPMENT_KEY_FILE: &str = "development-key";

/// Why there is no token to be had here.
pub const SIGNS_NOTHING: &str =
    "no token can be signed here: auth.hs256_secret is empty, and the keys of auth.jwks_file only check";

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

/// A development key that can be neither read nor made.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error(
        "the development key {} cannot be kept: {source}; set auth.hs256_secret, or mend store.data_dir",
        path.display()
    )]
    Unusable { path: PathBuf, source: io::Error },
    #[error(
        "the development key {} is shorter than {SECRET_BYTES_MIN} bytes; remove it, and a new one is made",
        path.display()
    )]
    Short { path: PathBuf },
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
}

impl SigningKey {
    /// The configured key, or else the development key of this data directory, made on first use. `None` when tokens
    /// are [only checked](SIGNS_NOTHING).
    pub fn load(config: &AuthConfig, data_dir: &Path) -> Result<Option<Self>, KeyError> {
        let (audience, issuer) = (config.audience.clone(), config.issuer.clone());
        let ttl_max = config.token_life_max().unwrap_or(TTL_MAX).min(TTL_MAX);
        if !config.hs256_secret.is_empty() {
            let secret = config.hs256_secret.clone();
            return Ok(Some(SigningKey { secret, audience, issuer, ttl_max, kept_at: None }));
        }
        if config.jwks_file().is_some() {
            return Ok(None);
        }
        let path = data_dir.join(DEVELOPMENT_KEY_FILE);
        let text = match read_or_make(&path) {
            Ok(text) => text,
            Err(source) => return Err(KeyError::Unusable { path, source }),
        };
        if text.len() < SECRET_BYTES_MIN {
            return Err(KeyError::Short { path });
        }
        Ok(Some(SigningKey { secret: Secret::new(text), audience, issuer, ttl_max, kept_at: Some(path) }))
    }

    /// The development key and where it is kept; `None` when a key is configured.
    pub fn development(&self) -> Option<(&str, &Path)> {
        self.kept_at.as_deref().map(|path| (self.secret.expose(), path))
    }

    /// A token of this user, good for `ttl` (in whole seconds, at least one, and no longer than tokens may live) from `wall_now_ms`, milliseconds since
    /// 1970 by the wall clock.
    pub fn issue(&self, user: UserId, ttl: Duration, wall_now_ms: u64) -> Issued {
        let iat = wall_now_ms / 1000;
        let exp = iat.saturating_add(ttl.min(self.ttl_max).as_secs().max(1));
        let claims = Claims { sub: user.0.to_string(), iat, exp, aud: &self.audience, iss: &self.issuer };
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

/// `heartline token` and a starting gateway may both be the first: whoever has the lock makes the key, and the other
/// reads it. There is no other file on the way, so a process killed here leaves none behind.
fn read_or_make(path: &Path) -> io::Result<String> {
    let data_dir = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(data_dir)?;
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    file.lock()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    if text.is_empty() {
        text = random_key();
        writeln!(file, "{text}")?;
        file.sync_all()?;
    }
    Ok(text.trim_end().to_owned())
}

fn random_key() -> String {
    BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
