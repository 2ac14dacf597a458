//! The keys that tokens are checked with, and which of them a token is checked with.
//!
//! Each key is for one algorithm, whatever a token says. A token whose `kid` names a key is checked with that key only.
//! A token with an unknown `kid` is checked with the keys without a `kid`. A token without a `kid` is checked with
//! every key of its algorithm. So keys can overlap: a new key is added before its first token is issued, and the old
//! one stays until its last token has ended.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::token_error::TokenError;

/// Keys that one token is checked with, at most: a bad token costs no more work than that.
pub const TRIED_MAX: usize = 8;

/// A key that signatures are checked with.
#[derive(Clone)]
pub struct CheckingKey {
    pub(super) kid: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
    validation: Validation,
}

/// Bounded by [`KEYS_MAX`](super::key_set::KEYS_MAX) for each set, and the one configured key. Empty only until the first answer
/// of `auth.jwks_url`.
pub struct Keyring {
    keys: Vec<CheckingKey>,
}

impl CheckingKey {
    pub(super) fn new(kid: Option<String>, algorithm: Algorithm, key: DecodingKey) -> Self {
        CheckingKey { kid, algorithm, key, validation: signature_only(algorithm) }
    }

    pub(super) fn hs256(secret: &[u8]) -> Self {
        Self::new(None, Algorithm::HS256, DecodingKey::from_secret(secret))
    }
}

impl Keyring {
    pub(super) fn new(keys: Vec<CheckingKey>) -> Self {
        Keyring { keys }
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether the token names a key that is not among these.
    pub(super) fn lacks_key_of(&self, token: &str) -> bool {
        let header = jsonwebtoken::decode_header(token).ok();
        header.and_then(|header| header.kid).is_some_and(|kid| !self.has(&kid))
    }

    /// The claims of a token that is signed with one of the keys.
    pub(super) fn claims<C: DeserializeOwned>(&self, token: &str) -> Result<C, TokenError> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| unreadable(token))?;
        // It lists what must be understood to judge the token, and none of that is understood here.
        if header.crit.is_some() {
            return Err(TokenError::CriticalHeaders);
        }
        let mut refusal = self.without_key(&header);
        for key in self.that_fit(&header).take(TRIED_MAX) {
            match jsonwebtoken::decode::<C>(token, &key.key, &key.validation) {
                Ok(token) => return Ok(token.claims),
                Err(error) => match cause(error.kind()) {
                    TokenError::Signature => refusal = TokenError::Signature,
                    other => return Err(other),
                },
            }
        }
        Err(refusal)
    }

    /// The fault of a token that no key fits.
    fn without_key(&self, header: &Header) -> TokenError {
        match &header.kid {
            Some(kid) if !self.has(kid) => TokenError::UnknownKid,
            _ => TokenError::Algorithm,
        }
    }

    fn has(&self, kid: &str) -> bool {
        self.keys.iter().any(|key| key.kid.as_deref() == Some(kid))
    }

    fn that_fit<'a>(&'a self, header: &'a Header) -> impl Iterator<Item = &'a CheckingKey> {
        let asked = header.kid.as_deref();
        let named = asked.filter(|kid| self.has(kid));
        let fits =
            move |key: &&CheckingKey| key.algorithm == header.alg && (asked.is_none() || key.kid.as_deref() == named);
        self.keys.iter().filter(fits)
    }
}

/// The fault of a token whose header cannot be read. An algorithm that the library does not know, such as `none`, is no
/// mistake of the form.
fn unreadable(token: &str) -> TokenError {
    #[derive(Deserialize)]
    struct Named {
        alg: String,
    }
    let mut parts = token.split('.');
    let (header, others) = (parts.next().unwrap_or_default(), parts.count());
    let header = BASE64_URL_SAFE_NO_PAD.decode(header).unwrap_or_default();
    match serde_json::from_slice::<Named>(&header) {
        Ok(Named { alg }) if others == 2 && alg.parse::<Algorithm>().is_err() => TokenError::Algorithm,
        _ => TokenError::Malformed,
    }
}

fn cause(kind: &ErrorKind) -> TokenError {
    match kind {
        ErrorKind::InvalidSignature => TokenError::Signature,
        ErrorKind::InvalidAlgorithm
        | ErrorKind::InvalidAlgorithmName
        | ErrorKind::MissingAlgorithm
        | ErrorKind::UnsupportedAlgorithm => TokenError::Algorithm,
        // The library judges neither keys nor claims here, so any other error is one of form.
        _ => TokenError::Malformed,
    }
}

/// The library judges `exp` before other claims and refuses any `aud` when none is configured, so it is asked for the
/// signature alone. The algorithm comes from the key, never from the token.
fn signature_only(algorithm: Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation
}

#[cfg(test)]
#[path = "keyring_tests.rs"]
mod tests;
