//! A page of a user's list: newest first, resumed by a cursor.

use std::sync::Arc;

use super::cold::ColdMark;
use super::ids::{Content, UserId};
use super::reading::Reading;
use super::record::Record;

/// Where a page ended. The list is ordered by it, descending, so a record that does not move itself is neither skipped
/// nor repeated, whatever else is written meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Server-clock milliseconds.
    pub at: u64,
    pub content: Content,
}

/// Which records of a user a list shows. All pages of a list have the same filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Empty = all.
    pub kinds: Vec<u16>,
    /// Only finished records, or only those that are not; `None` = both.
    pub finished: Option<bool>,
}

/// The page that a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    /// At least 1.
    pub limit: usize,
    /// Only what comes after it.
    pub after: Option<Position>,
    pub filter: ListFilter,
}

/// The page that a store is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRequest {
    /// At least 1.
    pub limit: usize,
    /// Only what comes after it.
    pub after: Option<Position>,
    /// Empty = all.
    pub kinds: Vec<u16>,
    /// `None` = finished or not.
    pub finished: Option<Finished>,
}

/// Records that are finished, or those that are not.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    pub wanted: bool,
    /// Says when a record is finished.
    pub reading: Arc<Reading>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// May be fewer than the limit, or none, also while there is more: a store looks at a bounded number of records
    /// for a page of [finished](PageRequest::finished) ones.
    pub records: Vec<Record>,
    /// There while there is more.
    pub next: Option<Position>,
    /// Records of this page or after it may be in the history store only.
    pub cold: Option<ColdMark>,
    /// The history store is away: older records may be missing.
    pub partial: bool,
}

/// Which users are asked for: the next ones after one, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsersRequest {
    /// Exclusive; `None` = from the first.
    pub after: Option<UserId>,
    /// At least 1.
    pub limit: usize,
    /// The kinds of records that count; empty = all.
    pub kinds: Vec<u16>,
}

impl Position {
    pub fn of(record: &Record) -> Self {
        Position { at: record.at, content: record.content }
    }
}

impl ListRequest {
    /// The same for a store. `reading`: says when a record is finished.
    pub fn read_by(self, reading: &Arc<Reading>) -> PageRequest {
        let ListRequest { limit, after, filter: ListFilter { kinds, finished } } = self;
        let finished = finished.map(|wanted| Finished { wanted, reading: reading.clone() });
        PageRequest { limit, after, kinds, finished }
    }
}

impl Finished {
    fn wants(&self, record: &Record) -> bool {
        self.reading.progress(record).finished == self.wanted
    }
}

impl PageRequest {
    pub fn wants(&self, record: &Record) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&record.content.kind))
            && self.after.is_none_or(|after| Position::of(record) < after)
            && self.finished.as_ref().is_none_or(|finished| finished.wants(record))
    }

    /// Cuts the page out of all the records that are [wanted](Self::wants), given in any order.
    pub fn cut(&self, mut records: Vec<Record>) -> Page {
        let more = records.len() > self.limit;
        if more {
            records.select_nth_unstable_by_key(self.limit - 1, |record| std::cmp::Reverse(Position::of(record)));
            records.truncate(self.limit);
        }
        records.sort_unstable_by_key(|record| std::cmp::Reverse(Position::of(record)));
        let next = records.last().filter(|_| more).map(Position::of);
        Page { records, next, ..Page::default() }
    }

    /// Drops the records, of those that are [wanted](Self::wants), that cannot be on the page. One more than the page
    /// holds is kept: it says that there is more.
    pub fn drop_older(&self, records: &mut Vec<Record>) {
        let kept = self.limit.saturating_add(1);
        if records.len() > kept {
            records.select_nth_unstable_by_key(kept - 1, |record| std::cmp::Reverse(Position::of(record)));
            records.truncate(kept);
            // Many lists may wait for their next slice.
            records.shrink_to(kept);
        }
    }
}
