//! What is known of one user while a group is decided.

use std::collections::HashMap;
use std::sync::Arc;

use super::contents::Contents;
use super::heads::Remembered;
use super::{Head, Loaded, StoredRow};
use crate::model::forgetting::Eviction;
use crate::model::ids::Content;
use crate::model::rewards::claim::ClaimKey;
use crate::model::rewards::day::Day;

/// Something that has to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    Head,
    /// A row outside the head.
    Row(Content),
    Contents,
    /// So many of the first to give way at the cap, without their rows; and the oldest record. Users with fewer contents
    /// have no others.
    First(usize),
    /// So many of the first to give way at the cap, if it is more than one with their rows; and the oldest record.
    Oldest(usize),
    /// So many of the newest records.
    Newest(usize),
    NewestOfAll,
    Claim(ClaimKey),
    ClaimRules,
    /// Rows that clears and the retention have left: records up to the first moment, tombstones before the second,
    /// milliseconds.
    Dead(u64, u64),
}

/// Whether there is a claim, and where one would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimable {
    pub key: ClaimKey,
    pub claimed: bool,
    /// It is or would be kept by itself, and not only in a filter.
    pub exact: bool,
    /// What the filter takes before claims are kept by themselves.
    pub filter_room: u64,
}

/// What was read of a user, all of it under one token.
#[derive(Debug, Default)]
pub struct Known {
    /// `None`: not read. `Some(None)`: the user has none.
    pub head: Option<Option<Box<Head>>>,
    rows: HashMap<Content, Option<StoredRow>>,
    pub contents: Contents,
    pub oldest: Option<(Vec<(Eviction, Content)>, bool)>,
    pub oldest_record: Option<u64>,
    pub newest: Option<(Vec<(u64, Content)>, bool)>,
    pub newest_of_all: Option<u64>,
    claims: HashMap<ClaimKey, Claimable>,
    pub claim_rules: Option<Vec<(Day, Arc<str>)>>,
}

impl Known {
    pub fn of_head(head: Option<Box<Head>>) -> Self {
        Known { head: Some(head), ..Known::default() }
    }

    pub fn of(remembered: Remembered) -> Self {
        let Remembered { head, contents } = remembered;
        Known { head: Some(Some(head)), contents, ..Known::default() }
    }

    pub fn add(&mut self, loaded: Loaded) {
        let Loaded { head, rows, contents, oldest, oldest_record, newest, newest_of_all, claims, claim_rules, .. } =
            loaded;
        self.head = head.or(self.head.take());
        self.rows.extend(rows);
        match (&oldest, contents) {
            (Some((all, true)), _) if all.len() <= Contents::ALL_MAX => {
                self.contents = Contents::All(all.iter().map(|(_, content)| *content).collect());
            }
            (_, Some(count)) => self.contents = Contents::Count(count),
            (_, None) => {}
        }
        self.oldest = oldest.or(self.oldest.take());
        self.oldest_record = oldest_record.or(self.oldest_record);
        self.newest = newest.or(self.newest.take());
        self.newest_of_all = newest_of_all.or(self.newest_of_all);
        self.claims.extend(claims.into_iter().map(|claimable| (claimable.key.clone(), claimable)));
        self.claim_rules = claim_rules.or(self.claim_rules.take());
    }

    pub fn row(&self, content: Content) -> Option<&Option<StoredRow>> {
        self.rows.get(&content).or_else(|| self.contents.lacks(content).then_some(&None))
    }

    pub fn rows(&self) -> impl Iterator<Item = (Content, &StoredRow)> {
        self.rows.iter().filter_map(|(content, row)| Some((*content, row.as_ref()?)))
    }

    /// Whether the row of this content is known, be it in the head or not.
    pub fn has_row(&self, content: Content) -> bool {
        let current = self.head.as_ref().and_then(Option::as_ref).and_then(|head| head.current.as_ref());
        current.is_some_and(|(current, _)| *current == content) || self.row(content).is_some()
    }

    /// Whether clears or the retention have left something.
    pub fn has_dead(&self, horizon: u64, watermark: u64) -> bool {
        let first = self.oldest.as_ref().and_then(|(oldest, _)| oldest.first());
        let dead_tombstone = first.is_some_and(|(eviction, _)| !eviction.has_record && eviction.newest < horizon);
        dead_tombstone || self.oldest_record.is_some_and(|at| at < horizon || at <= watermark)
    }

    pub fn claim(&self, key: &ClaimKey) -> Option<&Claimable> {
        self.claims.get(key)
    }
}
