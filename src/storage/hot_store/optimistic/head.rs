//! What is compared and written with every change of a user.

use super::token::Token;
use crate::model::forgetting::{ContentRow, UserRow};
use crate::model::ids::Content;
#[cfg(doc)]
use crate::model::rewards::rule::RewardRule;
use crate::model::version::Version;

const DAY_MS: u64 = 86_400_000;

/// The token, what was forgotten, and the row of what is being played: a beat that only moves a position on reads and
/// writes nothing else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    pub token: Token,
    /// Others that wrote lately, each with its last token, the newest first; at most [`Head::WRITERS_MAX`].
    pub writers: Vec<Token>,
    pub listing: Listing,
    pub forgetting: UserRow,
    /// Its row is nowhere else. It has a record.
    pub current: Option<(Content, StoredRow)>,
}

/// How far a user's changes were carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listing {
    /// No gateway that carries changes has ever written the user.
    #[default]
    Unknown,
    /// There was nothing left to carry at some time, and nothing was written since.
    Carried,
    /// In the list.
    Listed,
}

/// The row of one content, with what of its claims nothing else can tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredRow {
    pub row: ContentRow,
    /// Rules whose claim of this content is only in a filter, by their [marks](RewardRule::mark), of the day of the
    /// record's credit.
    pub claims: Vec<u32>,
}

/// By the clock.
pub fn day_of(moment: u64) -> u64 {
    moment / DAY_MS
}

impl StoredRow {
    /// Its user is entered to be looked at with the first row of each day.
    pub fn day(&self) -> u64 {
        day_of(self.row.newest())
    }
}

impl Head {
    /// Beside the writer of the token.
    pub const WRITERS_MAX: usize = 7;

    /// Whether what was written under `token` is part of this: it, or something newer of the same writer.
    pub fn includes(&self, token: Token) -> bool {
        let mut all = self.writers.iter().chain([&self.token]);
        all.any(|known| known.writer == token.writer && known.version >= token.version)
    }

    /// The day of what is being played.
    pub fn day(&self) -> Option<u64> {
        self.current.as_ref().map(|(_, stored)| stored.day())
    }

    /// Gives it the token of its next write.
    pub fn renew(&mut self, token: Token) {
        let before = std::mem::replace(&mut self.token, token);
        self.writers.retain(|known| known.writer != token.writer);
        if before.writer != token.writer && before.version > Version::NONE {
            self.writers.insert(0, before);
            self.writers.truncate(Self::WRITERS_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(version: u64, writer: u64) -> Token {
        Token { version: Version(version), writer }
    }

    #[test]
    fn it_names_those_who_wrote_last() {
        let mut head = Head::default();
        (1..=3).for_each(|version| head.renew(token(version, 1)));
        assert!(head.writers.is_empty());
        head.renew(token(4, 2));
        assert_eq!(head.writers, [token(3, 1)]);
        assert!(head.includes(token(2, 1)) && head.includes(token(4, 2)) && !head.includes(token(4, 1)));
        (5..=20).for_each(|version| head.renew(token(version, version)));
        assert_eq!(head.writers.len(), Head::WRITERS_MAX);
        assert!(head.includes(token(13, 13)) && !head.includes(token(12, 12)));
    }
}
