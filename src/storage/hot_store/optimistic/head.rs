//! The head of a user, which is compared and written with every change.

use super::token::Token;
use model::cold::ColdMark;
use model::forgetting::{ContentRow, UserRow};
use model::ids::Content;
#[cfg(doc)]
use model::rewards::rule::RewardRule;
use model::version::Version;

const DAY_MS: u64 = 86_400_000;

/// The token, clears and pauses, and the row of the content being played. A beat that only moves a position on reads
/// and writes nothing else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    pub token: Token,
    /// Other recent writers, each by its last token, the newest first; at most [`Head::WRITERS_MAX`].
    pub writers: Vec<Token>,
    pub listing: Listing,
    /// The newest generation of derived counters that has all records of the user; 0 = none has.
    pub generation: u32,
    pub forgetting: UserRow,
    /// Rows have left the hot store.
    pub cold: Option<ColdMark>,
    /// The content being played. It has a record, and its row is stored only here.
    pub current: Option<(Content, StoredRow)>,
}

/// The state of carrying a user's changes to the history store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listing {
    /// No gateway that carries changes has ever written the user.
    #[default]
    Unknown,
    /// All changes were carried at some time, and nothing was written since.
    Carried,
    /// The user is in the list.
    Listed,
}

/// The row of one content, with those claims that are stored nowhere else exactly.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredRow {
    pub row: ContentRow,
    /// Rules whose claim of this content is only in a filter, by their [marks](RewardRule::mark), on the day of the
    /// record's credit.
    pub claims: Vec<u32>,
}

/// The day of the clock at a moment in milliseconds.
pub fn day_of(moment: u64) -> u64 {
    moment / DAY_MS
}

impl StoredRow {
    /// The day of the row's newest moment. The first row of each day schedules a look at its user.
    pub fn day(&self) -> u64 {
        day_of(self.row.newest())
    }
}

impl Head {
    /// The most writers beside the writer of the token.
    pub const WRITERS_MAX: usize = 7;

    /// Whether this head includes the write of `token`: it has that token, or a newer one of the same writer.
    pub fn includes(&self, token: Token) -> bool {
        let mut all = self.writers.iter().chain([&self.token]);
        all.any(|known| known.writer == token.writer && known.version >= token.version)
    }

    /// The day of the content being played.
    pub fn day(&self) -> Option<u64> {
        self.current.as_ref().map(|(_, stored)| stored.day())
    }

    /// The mark of rows that have left the hot store, if a read may still return any of them.
    pub fn cold_mark(&self, horizon: u64) -> Option<ColdMark> {
        self.cold.filter(|mark| !mark.is_void(self.forgetting.watermark, horizon))
    }

    /// Gives the head the token of its next write.
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
    fn a_head_names_the_last_writers() {
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
