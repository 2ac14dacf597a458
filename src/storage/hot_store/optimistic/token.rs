//! What a user's state is known by.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::version::Version;

/// Which write of a user was the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Token {
    /// Begins at the time, so that it grows over a loss of the head, too.
    pub version: Version,
    /// The process that wrote; drawn anew at each start.
    pub writer: u64,
}

/// Gives out the tokens of one process. None is given out twice, also when what it was made for was refused.
#[derive(Debug)]
pub struct TokenSource {
    writer: u64,
    last: AtomicU64,
}

impl TokenSource {
    /// `writer`: random, of this process alone.
    pub fn new(writer: u64) -> Self {
        TokenSource { writer, last: AtomicU64::new(0) }
    }

    pub fn writer(&self) -> u64 {
        self.writer
    }

    /// The one to follow `before`. `now`: the server's clock, milliseconds.
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
    fn none_is_given_out_twice_and_each_is_newer_than_what_it_follows() {
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
