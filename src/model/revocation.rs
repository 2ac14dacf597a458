//! Revocations of tokens that are otherwise valid.

use std::sync::Arc;

use super::ids::UserId;

/// Bytes of a token's id (`jti`), at most; a longer one is not kept, and so cannot be revoked.
pub const TOKEN_ID_BYTES_MAX: usize = 256;

/// The issue time and the id of a token, by which it may have been revoked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenMark {
    /// `iat`, milliseconds since 1970; `None` = the token does not say, or names a moment to come.
    pub issued_ms: Option<u64>,
    /// `jti`.
    pub id: Option<Arc<str>>,
}

/// All tokens of a user so far, or one token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Revoked {
    User(UserId),
    Token(Arc<str>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revocation {
    pub what: Revoked,
    /// Milliseconds since 1970, as is `until_ms`. The user's tokens issued up to then are refused.
    pub at_ms: u64,
    /// When the revocation ends, since the tokens it covers have expired; `None` = never.
    pub until_ms: Option<u64>,
}

impl Revocation {
    /// Whether another revocation of the same user or token replaces this one.
    pub fn gives_way_to(&self, other: &Revocation) -> bool {
        self.at_ms <= other.at_ms
    }

    pub fn holds(&self, now_ms: u64) -> bool {
        self.until_ms.is_none_or(|until| now_ms < until)
    }

    /// Whether a token that it names, or of the user it names, is refused. A token without an issue time counts as old.
    pub fn refuses(&self, token: &TokenMark, now_ms: u64) -> bool {
        let concerned = match self.what {
            Revoked::User(_) => token.issued_ms.is_none_or(|issued| issued <= self.at_ms),
            Revoked::Token(_) => true,
        };
        concerned && self.holds(now_ms)
    }
}
