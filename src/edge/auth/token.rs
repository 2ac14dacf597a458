//! Verifies a token and reads the user from it.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, RwLock};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::control_scopes::ControlScopes;
use super::key::SigningKey;
use super::key_set::{self, KeySetError};
use super::key_url::KeyUrl;
use super::keyring::{CheckingKey, Keyring};
use super::scopes::{self, Scopes};
use super::token_error::TokenError;
use super::{AuthConfig, Subjects};
use model::ids::UserId;
use model::revocation::{TOKEN_ID_BYTES_MAX, TokenMark};
use model::user_name::UserName;

/// Bytes of a token, at most; a longer one is not looked at.
pub const TOKEN_BYTES_MAX: usize = 4096;

/// How far the clocks of issuer and gateway may be apart when `exp` and `nbf` are judged, milliseconds.
pub const LEEWAY_MS: u64 = 5_000;

/// The latest moment; later dates are reduced to it. Clients get the end of a token, and read numbers as doubles.
const DATE_MS_MAX: u64 = (1 << 53) - 1;

/// An `exp` of this size was written in milliseconds, of 2001 or later. Taken for seconds, such a token would not end before
/// the year 30000.
const EXP_IN_MILLISECONDS: Range<f64> = 1e12..1e15;

/// How a token names its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Number(UserId),
    Name(UserName),
}

/// The contents of a good token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub subject: Subject,
    /// The token's `exp`, milliseconds since 1970 by the wall clock, leeway not included.
    pub expires_ms: u64,
    /// The marks by which the token may have been revoked.
    pub token: TokenMark,
}

/// The contents of a good token of a service, which acts for any user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceIdentity {
    /// The token's `sub`.
    pub name: String,
    /// The scopes of the token over gRPC.
    pub scopes: Scopes,
    /// The scopes of the token on the control listener.
    pub control: ControlScopes,
    /// The marks by which the token may have been revoked.
    pub token: TokenMark,
}

/// Judges tokens. One signature check per call, so call it once per connection, renewal or request.
pub struct Verifier {
    keyring: RwLock<Arc<Keyring>>,
    /// The keys of `source` and of the URL. Its lock orders replacements of the keyring.
    keys: Mutex<Keys>,
    source: Source,
    url: Option<Arc<KeyUrl>>,
    subjects: Subjects,
    /// The claim that names the user in place of `sub`.
    user_claim: Option<String>,
    audience: Option<String>,
    issuer: Option<String>,
    life_max: Option<Duration>,
}

/// The source of the keys.
struct Source {
    /// The configured key or the development key.
    secret: Option<Vec<u8>>,
    jwks_file: Option<PathBuf>,
}

#[derive(Default)]
struct Keys {
    of_source: Vec<CheckingKey>,
    of_url: Vec<CheckingKey>,
}

/// The claims that matter; others are ignored. `aud` and `iss` may be anything unless they are configured.
#[derive(Deserialize)]
struct Claims {
    sub: Option<Value>,
    /// Seconds since 1970, possibly with a fraction; so are `nbf` and `iat`.
    exp: Option<Value>,
    nbf: Option<Value>,
    iat: Option<Value>,
    jti: Option<Value>,
    aud: Option<Value>,
    iss: Option<Value>,
    /// Words between spaces.
    scope: Option<Value>,
    /// All others.
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl Verifier {
    /// Accepts tokens signed with `key`, if there is one, or with a key of the configured set.
    pub fn new(config: &AuthConfig, key: Option<&SigningKey>) -> Result<Self, KeySetError> {
        Self::with_url(config, key, None)
    }

    /// The same, with the keys of `url` once they are [handed over](Self::use_keys_of_url).
    pub fn with_url(
        config: &AuthConfig,
        key: Option<&SigningKey>,
        url: Option<Arc<KeyUrl>>,
    ) -> Result<Self, KeySetError> {
        let secret = key.map(|key| key.bytes().to_vec());
        let source = Source { secret, jwks_file: config.jwks_file().map(PathBuf::from) };
        let keys = Keys { of_source: source.load()?, of_url: Vec::new() };
        Ok(Verifier {
            keyring: RwLock::new(Arc::new(keys.ring())),
            keys: Mutex::new(keys),
            source,
            url,
            subjects: config.subjects,
            user_claim: configured(&config.user_claim),
            audience: configured(&config.audience),
            issuer: configured(&config.issuer),
            life_max: config.token_life_max(),
        })
    }

    /// Reads the file again, and has the URL fetched; returns how many keys there are now. When it cannot be used, the keys stay as they were.
    /// Connections stay, whatever becomes of the key their token was checked with: a token is good until it ends.
    pub fn reload(&self) -> Result<usize, KeySetError> {
        if let Some(url) = &self.url {
            url.ask();
        }
        let of_source = self.source.load()?;
        let mut keys = self.keys.lock();
        keys.of_source = of_source;
        Ok(self.renew(&keys))
    }

    /// Replaces the keys of the URL; returns how many keys there are now. Connections stay, as at a reload.
    pub fn use_keys_of_url(&self, of_url: Vec<CheckingKey>) -> usize {
        let mut keys = self.keys.lock();
        keys.of_url = of_url;
        self.renew(&keys)
    }

    fn renew(&self, keys: &Keys) -> usize {
        let keyring = Arc::new(keys.ring());
        let count = keyring.len();
        *self.keyring.write() = keyring;
        count
    }

    /// Something to wait for before this token is judged: it names an unknown key, and the URL is asked for it. `None`: it
    /// can be judged now.
    pub fn awaited_key(&self, token: &str) -> Option<BoxFuture<'static, ()>> {
        let url = self.url.as_ref()?;
        if self.lacks_key(token) { url.ask_for_unknown() } else { None }
    }

    /// Whether the token names an unknown key, and there is a URL to ask for it.
    pub fn lacks_key(&self, token: &str) -> bool {
        self.url.is_some() && token.len() <= TOKEN_BYTES_MAX && self.keyring().lacks_key_of(token)
    }

    /// The token of a user. `wall_now_ms`: milliseconds since 1970 by the wall clock, here and below.
    pub fn verify(&self, token: &str, wall_now_ms: u64) -> Result<Identity, TokenError> {
        let claims = self.claims(token)?;
        if scopes::is_of_service(claims.scope.as_ref()) {
            return Err(TokenError::OfService);
        }
        let subject = self.subject(&claims)?;
        let (expires_ms, token) = self.check_times(&claims, wall_now_ms)?;
        Ok(Identity { subject, expires_ms, token })
    }

    /// The token of a service; one of a user passes, with no scopes.
    pub fn verify_service(&self, token: &str, wall_now_ms: u64) -> Result<ServiceIdentity, TokenError> {
        let claims = self.claims(token)?;
        let name = claims.sub.as_ref().and_then(Value::as_str).ok_or(TokenError::SubNotString)?.to_owned();
        let (_, token) = self.check_times(&claims, wall_now_ms)?;
        let scope = claims.scope.as_ref();
        Ok(ServiceIdentity { name, scopes: Scopes::of(scope), control: ControlScopes::of(scope), token })
    }

    fn subject(&self, claims: &Claims) -> Result<Subject, TokenError> {
        let named = match self.user_claim.as_deref() {
            Some(claim) => claims.named(claim),
            None => claims.sub.as_ref(),
        };
        let text = named.and_then(Value::as_str).ok_or(TokenError::SubNotString)?;
        match self.subjects {
            Subjects::Number => number(text).map(Subject::Number),
            Subjects::Any => UserName::new(text).map(Subject::Name).map_err(|_| TokenError::SubNotName),
        }
    }

    fn claims(&self, token: &str) -> Result<Claims, TokenError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(TokenError::TooLong);
        }
        let claims: Claims = self.keyring().claims(token)?;
        self.check_origin(&claims)?;
        Ok(claims)
    }

    /// Returns when the token ends, and its mark. To be called last, so that "expired" means that all else is right.
    fn check_times(&self, claims: &Claims, wall_now_ms: u64) -> Result<(u64, TokenMark), TokenError> {
        if let Some(nbf) = &claims.nbf {
            check_not_before(nbf, wall_now_ms)?;
        }
        let exp = claims.exp.as_ref().ok_or(TokenError::NoExp)?;
        let expires_ms = date_ms(exp).ok_or(TokenError::ExpNotNumber)?;
        if exp.as_f64().is_some_and(|exp| EXP_IN_MILLISECONDS.contains(&exp)) {
            return Err(TokenError::ExpInMilliseconds);
        }
        let token = mark(claims.iat.as_ref(), claims.jti.as_ref(), wall_now_ms);
        self.check_life(&token, expires_ms)?;
        if wall_now_ms >= expires_ms.saturating_add(LEEWAY_MS) {
            return Err(TokenError::Expired);
        }
        Ok((expires_ms, token))
    }

    /// Never held while a signature is checked, so a reload does not wait.
    fn keyring(&self) -> Arc<Keyring> {
        self.keyring.read().clone()
    }

    /// Revocations are forgotten when what they refuse must have ended: that holds only if every token says when it
    /// was issued and none lives for longer.
    fn check_life(&self, token: &TokenMark, expires_ms: u64) -> Result<(), TokenError> {
        let Some(life_max) = self.life_max else { return Ok(()) };
        let issued_ms = token.issued_ms.ok_or(TokenError::NoIat)?;
        if expires_ms > issued_ms.saturating_add(life_max.as_millis() as u64) {
            return Err(TokenError::LifeTooLong);
        }
        Ok(())
    }

    fn check_origin(&self, claims: &Claims) -> Result<(), TokenError> {
        if let Some(audience) = &self.audience
            && !claims.aud.as_ref().is_some_and(|aud| names(aud, audience))
        {
            return Err(TokenError::Audience);
        }
        if let Some(issuer) = &self.issuer
            && claims.iss.as_ref().and_then(Value::as_str) != Some(issuer)
        {
            return Err(TokenError::Issuer);
        }
        Ok(())
    }
}

impl Claims {
    /// The claim of this name, literally.
    fn named(&self, claim: &str) -> Option<&Value> {
        match claim {
            "sub" => self.sub.as_ref(),
            "exp" => self.exp.as_ref(),
            "nbf" => self.nbf.as_ref(),
            "iat" => self.iat.as_ref(),
            "jti" => self.jti.as_ref(),
            "aud" => self.aud.as_ref(),
            "iss" => self.iss.as_ref(),
            "scope" => self.scope.as_ref(),
            other => self.others.get(other),
        }
    }
}

impl Keys {
    /// All keys. If both places have a key with one `kid`, that of the source counts.
    fn ring(&self) -> Keyring {
        let is_new = |key: &&CheckingKey| key.kid.is_none() || self.of_source.iter().all(|other| other.kid != key.kid);
        Keyring::new(self.of_source.iter().chain(self.of_url.iter().filter(is_new)).cloned().collect())
    }
}

impl Source {
    fn load(&self) -> Result<Vec<CheckingKey>, KeySetError> {
        let mut keys: Vec<_> = self.secret.iter().map(|secret| CheckingKey::hs256(secret)).collect();
        if let Some(path) = &self.jwks_file {
            let set = key_set::load(path)?;
            if let Some(warning) = set.warning(&key_set::origin_of(path)) {
                tracing::warn!(event = "keys_skipped", "{warning}");
            }
            keys.extend(set.keys);
        }
        Ok(keys)
    }
}

fn configured(setting: &str) -> Option<String> {
    (!setting.is_empty()).then(|| setting.to_owned())
}

/// `aud` is one name or a list of them.
fn names(aud: &Value, audience: &str) -> bool {
    match aud {
        Value::Array(several) => several.iter().any(|one| one.as_str() == Some(audience)),
        one => one.as_str() == Some(audience),
    }
}

/// A decimal `u64`: digits only, since "+1" and " 1" would be further names of the same user.
fn number(text: &str) -> Result<UserId, TokenError> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let mid = text.parse().ok().filter(|_| digits);
    mid.map(UserId).ok_or(TokenError::SubNotNumber)
}

/// An `iat` that is still to come says nothing: its token would outlast every revocation until then.
fn mark(iat: Option<&Value>, jti: Option<&Value>, wall_now_ms: u64) -> TokenMark {
    let issued_ms = iat.and_then(date_ms).filter(|issued| *issued <= wall_now_ms.saturating_add(LEEWAY_MS));
    let id = jti.and_then(Value::as_str).filter(|id| id.len() <= TOKEN_ID_BYTES_MAX);
    TokenMark { issued_ms, id: id.map(Arc::from) }
}

fn check_not_before(nbf: &Value, wall_now_ms: u64) -> Result<(), TokenError> {
    let from_ms = date_ms(nbf).ok_or(TokenError::NbfNotNumber)?;
    if from_ms > wall_now_ms.saturating_add(LEEWAY_MS) {
        return Err(TokenError::NotYetValid);
    }
    Ok(())
}

/// Seconds since 1970 as milliseconds; what lies before 1970 or beyond [`DATE_MS_MAX`] becomes the nearest there is.
fn date_ms(seconds: &Value) -> Option<u64> {
    seconds.as_f64().map(|seconds| ((seconds * 1000.0) as u64).min(DATE_MS_MAX))
}

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
