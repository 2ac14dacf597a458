//! The names that operators give to what they define.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A kind of thing that operators name.
pub trait Named: Clone {
    /// In an error: `a counter`.
    const WHAT: &'static str;
}

/// `rewards-eu`: 1 to 64 letters, digits, `.`, `_` and `-`. It fits into a path, a key and a label as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String", bound = "T: Named")]
pub struct Name<T>(Arc<str>, PhantomData<T>);

/// A text is not such a name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{text:?} is not the id of {what}; write 1 to 64 letters, digits, '.', '_' and '-'")]
pub struct NoName {
    what: &'static str,
    text: String,
}

impl<T> Name<T> {
    pub const BYTES_MAX: usize = 64;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Named> FromStr for Name<T> {
    type Err = NoName;

    fn from_str(text: &str) -> Result<Self, NoName> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        match (1..=Self::BYTES_MAX).contains(&text.len()) && text.bytes().all(fits) {
            true => Ok(Name(text.into(), PhantomData)),
            false => Err(NoName { what: T::WHAT, text: text.to_owned() }),
        }
    }
}

impl<T: Named> TryFrom<String> for Name<T> {
    type Error = NoName;

    fn try_from(text: String) -> Result<Self, NoName> {
        text.parse()
    }
}

impl<T> From<Name<T>> for String {
    fn from(name: Name<T>) -> String {
        name.as_str().to_owned()
    }
}

impl<T> fmt::Display for Name<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Ship;

    impl Named for Ship {
        const WHAT: &'static str = "a ship";
    }

    #[test]
    fn a_name_is_of_letters_digits_and_a_few_signs() {
        for good in ["a", "rewards-eu", "Likes_2.x", &"x".repeat(64)] {
            assert_eq!(good.parse::<Name<Ship>>().map(|name| name.to_string()), Ok(good.to_owned()));
        }
        for wrong in ["", "a b", "a/b", "a:b", "ä", &"x".repeat(65)] {
            assert!(wrong.parse::<Name<Ship>>().is_err(), "{wrong}");
        }
        let error = "a b".parse::<Name<Ship>>().unwrap_err().to_string();
        assert_eq!(error, "\"a b\" is not the id of a ship; write 1 to 64 letters, digits, '.', '_' and '-'");
    }
}
