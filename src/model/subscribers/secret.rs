//! The secrets that sign deliveries, as Standard Webhooks writes them: `whsec_` and Base64.
//!
//! <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

const PREFIX: &str = "whsec_";

/// The key of one signature: 24 to 64 bytes. Its text is shown only where it is asked for.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct SigningSecret(Vec<u8>);

/// A text is no secret. It does not tell the text.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("is no secret; write \"whsec_\" and the Base64 of 24 to 64 bytes")]
pub struct NoSigningSecret;

impl SigningSecret {
    /// The length of a secret that is made here.
    pub const BYTES: usize = 32;

    /// # Errors
    /// There are fewer than 24 or more than 64 bytes.
    pub fn of(bytes: Vec<u8>) -> Result<Self, NoSigningSecret> {
        (24..=64).contains(&bytes.len()).then_some(SigningSecret(bytes)).ok_or(NoSigningSecret)
    }

    /// The key. Do not log it.
    pub fn key(&self) -> &[u8] {
        &self.0
    }

    /// `whsec_…`. Do not log it.
    pub fn expose(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }
}

impl FromStr for SigningSecret {
    type Err = NoSigningSecret;

    fn from_str(text: &str) -> Result<Self, NoSigningSecret> {
        let encoded = text.strip_prefix(PREFIX).ok_or(NoSigningSecret)?;
        SigningSecret::of(STANDARD.decode(encoded).map_err(|_| NoSigningSecret)?)
    }
}

impl TryFrom<String> for SigningSecret {
    type Error = NoSigningSecret;

    fn try_from(text: String) -> Result<Self, NoSigningSecret> {
        text.parse()
    }
}

impl From<SigningSecret> for String {
    fn from(secret: SigningSecret) -> String {
        secret.expose()
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(crate::secret::MASK)
    }
}

/// The newest secret, and for some time the one before it, so that a receiver can change over.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Secrets {
    newest: SigningSecret,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    older: Option<Older>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Older {
    secret: SigningSecret,
    /// Milliseconds since 1970.
    until: u64,
}

impl Secrets {
    pub fn new(newest: SigningSecret) -> Self {
        Secrets { newest, older: None }
    }

    pub fn newest(&self) -> &SigningSecret {
        &self.newest
    }

    /// Replaces the newest, which goes on signing until that time. The one before it signs no more.
    #[must_use]
    pub fn rotated(self, newest: SigningSecret, until: u64) -> Self {
        if newest == self.newest {
            return self;
        }
        Secrets { newest, older: Some(Older { secret: self.newest, until }) }
    }

    /// Those that sign at that time, the newest first.
    pub fn at(&self, now: u64) -> impl Iterator<Item = &SigningSecret> {
        let older = self.older.iter().filter(move |older| now < older.until).map(|older| &older.secret);
        std::iter::once(&self.newest).chain(older)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> SigningSecret {
        SigningSecret::of(vec![byte; 32]).expect("it is long enough")
    }

    #[test]
    fn a_secret_is_read_as_it_is_written() {
        let text = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        assert_eq!(text.parse::<SigningSecret>().map(|secret| secret.expose()), Ok(text.to_owned()));
    }

    #[test]
    fn what_is_no_secret_is_refused() {
        let (short, long) = (STANDARD.encode([0; 23]), STANDARD.encode([0; 65]));
        for wrong in
            ["", "whsec_", "whsec_!", &format!("whsec_{short}"), &format!("whsec_{long}"), &STANDARD.encode([0; 32])]
        {
            assert_eq!(wrong.parse::<SigningSecret>(), Err(NoSigningSecret), "{wrong}");
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", secret(1)), "********");
    }

    #[test]
    fn the_newest_two_sign_until_the_older_is_over() {
        let at = |secrets: &Secrets, now| secrets.at(now).cloned().collect::<Vec<_>>();
        let secrets = Secrets::new(secret(1)).rotated(secret(2), 1_000);
        assert_eq!(at(&secrets, 999), [secret(2), secret(1)]);
        assert_eq!(at(&secrets, 1_000), [secret(2)]);
        assert_eq!(at(&secrets.clone().rotated(secret(3), 2_000), 500), [secret(3), secret(2)], "never three");
        assert_eq!(secrets.clone().rotated(secret(2), 9_000), secrets, "the same again changes nothing");
    }
}
