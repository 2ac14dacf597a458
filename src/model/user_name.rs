//! Users as a team names them: by a text, such as a UUID or the subject of an identity provider.

use std::fmt;
use std::hash::Hasher;
use std::str::FromStr;
use std::sync::Arc;

use percent_encoding::utf8_percent_encode;
use siphasher::sip128::{Hasher128, SipHasher24};

use super::ids::UserId;
use super::percent::RESERVED;

/// `auth0|6405a1`: 1 to 256 bytes without control characters, compared byte by byte. Digits are a name like any other.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserName(Arc<str>);

/// A text names no user. The message completes a sentence that begins with the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoUserName {
    #[error("must be from 1 to {} bytes long", UserName::BYTES_MAX)]
    Length,
    #[error("must not contain control characters")]
    Control,
}

/// A user, as others are told of one: by the name, if users are named by texts here and the name is known.
#[derive(Clone, Copy, Debug)]
pub struct ToldUser<'a> {
    pub id: UserId,
    pub name: Option<&'a UserName>,
}

/// By which the number of a name is found. Nothing of the name can be read from it without the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UserNameHash([u8; UserNameHash::BYTES]);

/// The key of the hashes of a deployment.
#[derive(Clone)]
pub struct UserNameKey(SipHasher24);

impl UserName {
    pub const BYTES_MAX: usize = 256;

    pub fn new(text: &str) -> Result<Self, NoUserName> {
        if !(1..=Self::BYTES_MAX).contains(&text.len()) {
            return Err(NoUserName::Length);
        }
        if text.chars().any(char::is_control) {
            return Err(NoUserName::Control);
        }
        Ok(UserName(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As a part of an id or of a URL.
    pub fn encoded(&self) -> String {
        utf8_percent_encode(&self.0, RESERVED).to_string()
    }

    /// A number for reads and limits of a user whose name has none yet: nothing is ever stored under it.
    pub fn stand_in(&self) -> UserId {
        const NEVER_GIVEN: u64 = 1 << 63;
        let mut hasher = siphasher::sip::SipHasher24::new();
        hasher.write(self.0.as_bytes());
        UserId(hasher.finish() | NEVER_GIVEN)
    }
}

impl FromStr for UserName {
    type Err = NoUserName;

    fn from_str(text: &str) -> Result<Self, NoUserName> {
        UserName::new(text)
    }
}

/// A name stays out of every dump.
impl fmt::Debug for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserName")
    }
}

impl<'a> ToldUser<'a> {
    pub fn by_number(id: UserId) -> Self {
        ToldUser { id, name: None }
    }

    /// As one text.
    pub fn text(self) -> String {
        self.name.map_or_else(|| self.id.0.to_string(), |name| name.as_str().to_owned())
    }

    /// As a part of an id, in which `:` separates parts.
    pub fn in_id(self) -> String {
        self.name.map_or_else(|| self.id.0.to_string(), UserName::encoded)
    }

    /// The `sub` beside a `mid`.
    pub fn sub(self) -> Option<&'a str> {
        self.name.map(UserName::as_str)
    }
}

impl UserNameHash {
    pub const BYTES: usize = 16;

    pub fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl UserNameKey {
    pub const BYTES: usize = 16;

    pub fn new(key: &[u8; Self::BYTES]) -> Self {
        UserNameKey(SipHasher24::new_with_key(key))
    }

    pub fn hash(&self, name: &UserName) -> UserNameHash {
        let mut hasher = self.0;
        hasher.write(name.as_str().as_bytes());
        UserNameHash(hasher.finish128().as_bytes())
    }
}

/// The key stays out of every dump.
impl fmt::Debug for UserNameKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserNameKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_any_text_without_control_characters() {
        for name in ["a", "42", "0042", " a ", "auth0|6405", "%2F", "..", "🎬", "а", &"n".repeat(256)] {
            assert_eq!(UserName::new(name).map(|name| name.as_str().to_owned()), Ok(name.to_owned()));
        }
        for (text, why) in [
            ("", NoUserName::Length),
            (&*"n".repeat(257), NoUserName::Length),
            (&"é".repeat(129), NoUserName::Length),
            ("a\0", NoUserName::Control),
            ("a\n", NoUserName::Control),
            ("\u{7f}", NoUserName::Control),
            ("\u{9f}", NoUserName::Control),
        ] {
            assert_eq!(UserName::new(text), Err(why), "{text:?}");
        }
    }

    #[test]
    fn a_hash_depends_on_each_byte_and_on_the_key() {
        let hash = |key: u8, name| UserNameKey::new(&[key; 16]).hash(&UserName::new(name).unwrap());
        assert_eq!(hash(1, "ann"), hash(1, "ann"));
        for other in [hash(2, "ann"), hash(1, "Ann"), hash(1, "ann "), hash(1, "аnn")] {
            assert_ne!(hash(1, "ann"), other);
        }
    }

    #[test]
    fn a_user_is_told_by_name_where_there_is_one() {
        let name = UserName::new("auth0|é:1").unwrap();
        let named = ToldUser { id: UserId(7), name: Some(&name) };
        assert_eq!((named.text(), named.in_id()), ("auth0|é:1".to_owned(), "auth0%7C%C3%A9%3A1".to_owned()));
        assert_eq!(named.sub(), Some("auth0|é:1"));
        let numbered = ToldUser::by_number(UserId(7));
        assert_eq!((numbered.text(), numbered.in_id(), numbered.sub()), ("7".to_owned(), "7".to_owned(), None));
    }

    #[test]
    fn a_name_is_not_in_a_dump() {
        assert_eq!(format!("{:?}", UserName::new("ann").unwrap()), "UserName");
    }
}
