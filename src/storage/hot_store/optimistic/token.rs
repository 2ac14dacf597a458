//! Tokens: versions of a user's state.

use std::sync::atomic::{AtomicU64, Ordering};

use model::version::Version;

/// Identifies the last write of a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Token {
    /// Starts from the time, so that it keeps growing even after a loss of the head.
    pub version: Version,
    /// The process that wrote; random for each start.
    pub writer: u64,
}

/// Gives out the tokens of one process. No token is given out twice, even if its write was refused.
#[derive(Debug)]
pub struct TokenSource {
    writer: u64,
    last: AtomicU64,
}

impl TokenSource {
    /// `writer`: random, unique to this process.
    pub fn new(writer: u64) -> Self {
        TokenSource { writer, last: AtomicU64::new(0) }
    }

    pub fn writer(&self) -> u64 {
        self.writer
    }

    /// The token after `before`. `now`: the server's clock, milliseconds.
    pub fn next(&self, before: Option<Token>, now: u64) -> Token {
        let least = before.map_or(Version::NONE, |token| token.version).max(Version::first_of(now));
        let after = |last: u64| Version(last).max(least).next();
        let last = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(after(last).0));
        Token { version: after(last.unwrap_or_default()), writer: self.writer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_token_is_given_out_twice_and_each_is_newer_than_the_one_before() {
        let tokens = TokenSource::new(7);
        let first = tokens.next(None, 1_000);
        assert_eq!(first, Token { version: Version(1_000_001), writer: 7 });
        assert_eq!(tokens.next(None, 1_000).version, Version(1_000_002));
        assert_eq!(
            tokens.next(Some(Token { version: Version(5_000_000), writer: 8 }), 1_000).version,
            Version(5_000_001)
        );
        assert_eq!(tokens.next(Some(first), 999).version, Version(5_000_002), "a clock that goes back repeats none");
    }
}
