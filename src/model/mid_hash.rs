//! The hashes that stand for users in logs.

use std::fmt;

use siphasher::sip::SipHasher24;

use super::ids::UserId;

/// A keyed hash of user ids. Without the key a hash says nothing of its user, and ids cannot be tried one by one.
#[derive(Clone)]
pub struct MidHash(SipHasher24);

/// The hash of a user for logs: the same for the same user, under one key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashedMid(u64);

impl MidHash {
    pub fn with_key(key: &[u8; 16]) -> Self {
        MidHash(SipHasher24::new_with_key(key))
    }

    pub fn of(&self, user: UserId) -> HashedMid {
        HashedMid(self.0.hash(&user.0.to_le_bytes()))
    }
}

/// The key stays out of every dump.
impl fmt::Debug for MidHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MidHash")
    }
}

impl fmt::Display for HashedMid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for HashedMid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_depends_on_the_user_and_the_key() {
        let (one, other) = (MidHash::with_key(&[1; 16]), MidHash::with_key(&[2; 16]));
        assert_eq!(one.of(UserId(42)), one.of(UserId(42)));
        assert_ne!(one.of(UserId(42)), one.of(UserId(43)));
        assert_ne!(one.of(UserId(42)), other.of(UserId(42)));
    }

    #[test]
    fn a_hash_shows_neither_the_user_nor_the_key() {
        let hash = MidHash::with_key(&[7; 16]);
        assert_eq!(hash.of(UserId(4_242_424_242)).to_string().len(), 16);
        assert!(!hash.of(UserId(4_242_424_242)).to_string().contains("4242424242"));
        assert_eq!(format!("{hash:?}"), "MidHash");
    }
}
