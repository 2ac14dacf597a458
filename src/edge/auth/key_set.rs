//! The file of keys, a JWK set, read whole: at the start, and again at every SIGHUP.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::jwk::{Jwk, Reason};
use super::keyring::CheckingKey;

/// Keys of one set.
pub const KEYS_MAX: usize = 64;
const FILE_BYTES_MAX: u64 = 256 * 1024;
const KID_BYTES_MAX: usize = 256;

/// A file that cannot be used, whole or in one key: half a set would let in half of the users.
#[derive(Debug, thiserror::Error)]
#[error("auth.jwks_file: {}: {why}", path.display())]
pub struct KeySetError {
    path: PathBuf,
    why: Reason,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

/// All keys of this file.
pub fn load(path: &Path) -> Result<Vec<CheckingKey>, KeySetError> {
    let unusable = |why| KeySetError { path: path.to_owned(), why };
    let text = read(path).map_err(|error| unusable(format!("cannot be read: {error}")))?;
    keys_of(&text).map_err(unusable)
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

fn keys_of(text: &str) -> Result<Vec<CheckingKey>, Reason> {
    // The error's own text may show what is in the file.
    let set: KeySet = serde_json::from_str(text)
        .map_err(|error| format!("is not a JWK set (line {}, column {})", error.line(), error.column()))?;
    if set.keys.is_empty() || set.keys.len() > KEYS_MAX {
        return Err(format!("has {} keys; from 1 to {KEYS_MAX} can be used", set.keys.len()));
    }
    let mut kids = HashSet::new();
    let mut keys = Vec::with_capacity(set.keys.len());
    for (index, value) in set.keys.iter().enumerate() {
        let key = key_of(value).map_err(|why| format!("{}: {why}", name(value, index)))?;
        if key.kid.as_ref().is_some_and(|kid| !kids.insert(kid.clone())) {
            return Err(format!("{}: another key has the same kid", name(value, index)));
        }
        keys.push(key);
    }
    Ok(keys)
}

fn key_of(value: &Value) -> Result<CheckingKey, Reason> {
    let jwk = Jwk::deserialize(value).map_err(|_| "it is not a JWK".to_owned())?;
    if jwk.kid.as_ref().is_some_and(|kid| kid.is_empty() || kid.len() > KID_BYTES_MAX) {
        return Err(format!("its kid is empty or longer than {KID_BYTES_MAX} bytes"));
    }
    let (algorithm, key) = jwk.read()?;
    Ok(CheckingKey::new(jwk.kid, algorithm, key))
}

/// How a message names a key: by its `kid`, or else by its place.
fn name(value: &Value, index: usize) -> String {
    match value["kid"].as_str() {
        Some(kid) if (1..=KID_BYTES_MAX).contains(&kid.len()) => format!("key {kid:?}"),
        _ => format!("key number {}", index + 1),
    }
}

#[cfg(test)]
#[path = "key_set_tests.rs"]
mod tests;
