//! A JWK set: of a file, read whole at the start and again at every SIGHUP, or of a URL.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::jwk::{Jwk, Reason, Unusable};
use super::keyring::CheckingKey;

/// Keys of one set.
pub const KEYS_MAX: usize = 64;
const FILE_BYTES_MAX: u64 = 256 * 1024;
const KID_BYTES_MAX: usize = 256;

/// A file that cannot be used, whole or in one key that is meant for tokens: half a set would let in half of the users.
#[derive(Debug, thiserror::Error)]
#[error("auth.jwks_file: {}: {why}", path.display())]
pub struct KeySetError {
    path: PathBuf,
    why: Reason,
}

#[derive(Deserialize)]
struct Shape {
    keys: Vec<Value>,
}

/// Where a set comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// An operator wrote it for this gateway: a broken key is a mistake, and the whole set is refused.
    File,
    /// An issuer publishes it for many: keys that cannot be used are skipped.
    Url,
}

/// The usable keys of a set.
#[derive(Default)]
pub struct KeySet {
    pub keys: Vec<CheckingKey>,
    /// Keys that cannot be used here, each with the reason.
    pub skipped: Vec<String>,
}

impl KeySet {
    /// One line about the keys that are skipped, if any are. `origin`: the setting and its value.
    pub fn warning(&self, origin: &str) -> Option<String> {
        let skipped = self.skipped.join("; ");
        (!skipped.is_empty()).then(|| format!("{origin}: skipped {skipped}"))
    }
}

/// How messages name the file.
pub fn origin_of(path: &Path) -> String {
    format!("auth.jwks_file: {}", path.display())
}

/// All keys of this file that can be used.
pub fn load(path: &Path) -> Result<KeySet, KeySetError> {
    let unusable = |why| KeySetError { path: path.to_owned(), why };
    let text = read(path).map_err(|error| unusable(format!("cannot be read: {error}")))?;
    keys_of(&text, Origin::File).map_err(unusable)
}

fn read(path: &Path) -> io::Result<String> {
    // A pipe would be waited for, and signals with it.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let why = format!("it is longer than {FILE_BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(text)
}

/// All keys of a published set that can be used.
pub fn of_url(text: &str) -> Result<KeySet, Reason> {
    keys_of(text, Origin::Url)
}

fn keys_of(text: &str, origin: Origin) -> Result<KeySet, Reason> {
    // The error's own text may show what is in the file.
    let set: Shape = serde_json::from_str(text)
        .map_err(|error| format!("is not a JWK set (line {}, column {})", error.line(), error.column()))?;
    if set.keys.is_empty() || set.keys.len() > KEYS_MAX {
        return Err(format!("has {} keys; from 1 to {KEYS_MAX} can be used", set.keys.len()));
    }
    let mut kids = HashSet::new();
    let mut found = KeySet::default();
    for (index, value) in set.keys.iter().enumerate() {
        let key = key_of(value, origin).and_then(|key| match &key.kid {
            Some(kid) if !kids.insert(kid.clone()) => Err("another key has the same kid".to_owned().into()),
            _ => Ok(key),
        });
        match key {
            Ok(key) => found.keys.push(key),
            Err(Unusable::Broken(why)) if origin == Origin::File => {
                return Err(format!("{}: {why}", name(value, index)));
            }
            Err(Unusable::Foreign(why) | Unusable::Broken(why)) => {
                found.skipped.push(format!("{}: {why}", name(value, index)));
            }
        }
    }
    match found.keys.is_empty() {
        true => Err(format!("has no key that can be used: {}", found.skipped.join("; "))),
        false => Ok(found),
    }
}

fn key_of(value: &Value, origin: Origin) -> Result<CheckingKey, Unusable> {
    let jwk = Jwk::deserialize(value).map_err(|_| "it is not a JWK".to_owned())?;
    if origin == Origin::Url && jwk.is_secret() {
        return Err("it is a secret, which must not be published".to_owned().into());
    }
    if jwk.kid.as_ref().is_some_and(|kid| kid.is_empty() || kid.len() > KID_BYTES_MAX) {
        return Err(format!("its kid is empty or longer than {KID_BYTES_MAX} bytes").into());
    }
    let (algorithm, key) = jwk.read()?;
    Ok(CheckingKey::new(jwk.kid, algorithm, key))
}

/// How a message names a key: by its `kid`, or else by its index.
fn name(value: &Value, index: usize) -> String {
    match value["kid"].as_str() {
        Some(kid) if (1..=KID_BYTES_MAX).contains(&kid.len()) => format!("key {kid:?}"),
        _ => format!("key number {}", index + 1),
    }
}

#[cfg(test)]
#[path = "key_set_tests.rs"]
mod tests;
