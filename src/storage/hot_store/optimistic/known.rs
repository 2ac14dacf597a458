//! The known state of one user while a group is decided.

use std::collections::HashMap;
use std::sync::Arc;

use super::contents::Contents;
use super::heads::Remembered;
use super::noticing::Waiting;
use super::{Head, Loaded, Marked, StoredRow};
use crate::hot_store::cold_filter::ColdFilter;
use model::decide::{AtHand, DeadContents, StoredUser};
use model::forgetting::{ContentRow, Eviction, UserRow, oldest_live};
use model::ids::Content;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;

/// The number of items of an order that are read first; each further read doubles it.
const FEW: usize = 8;

/// An item to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    Head,
    /// A row outside the head.
    Row(Content),
    Contents,
    /// The first this many contents to be evicted at the cap, without their rows. A user with fewer contents has no
    /// others.
    First(usize),
    /// The first this many contents to be evicted at the cap; if more than one, with their rows.
    Oldest(usize),
    /// The newest this many records.
    Newest(usize),
    /// The rows of all contents.
    All,
    Claim(ClaimKey),
    ClaimRules,
    /// The rows of contents that are marked to be carried to the history store.
    Marked,
    ColdFilter,
    /// The rows of expired and cleared contents, or the first of them: records up to the first moment, tombstones
    /// before the second, milliseconds.
    Dead(u64, u64),
}

/// Expired and cleared contents, by the timeline. The content in the head may be among them, since its place in the
/// timeline is older than its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dead {
    /// The moments of [`Need::Dead`].
    pub asked: (u64, u64),
    pub contents: Vec<Content>,
    /// More contents remain.
    pub more: bool,
    /// The moments of the oldest record and of the oldest tombstone that stay.
    pub next: [Option<u64>; 2],
}

/// Whether a claim is kept, and how it would be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimable {
    pub key: ClaimKey,
    pub claimed: bool,
    /// The claim is or would be kept exactly, and not only in a filter.
    pub exact: bool,
    /// The number of claims the filter still takes; further claims are kept exactly.
    pub filter_room: u64,
}

/// The state read of a user, all of it under one token.
#[derive(Debug, Default)]
pub struct Known {
    /// `None`: not read. `Some(None)`: the user has no head.
    pub head: Option<Option<Box<Head>>>,
    rows: HashMap<Content, Option<StoredRow>>,
    pub contents: Contents,
    pub oldest: Option<(Vec<(Eviction, Content)>, bool)>,
    pub newest: Option<(Vec<(u64, Content)>, bool)>,
    /// All rows are known.
    pub all: bool,
    /// Several, if a clear within the group makes more contents dead.
    dead: Vec<Dead>,
    claims: HashMap<ClaimKey, Claimable>,
    pub claim_rules: Option<Vec<(Day, Arc<str>)>>,
    /// The contents that are marked to be carried to the history store.
    pub marked: Option<Marked>,
    /// `Some(None)`: the user has none.
    pub cold_filter: Option<Option<ColdFilter>>,
    pub waiting: Option<Waiting>,
}

impl Known {
    pub fn of_head(head: Option<Box<Head>>) -> Self {
        Known { head: Some(head), ..Known::default() }
    }

    pub fn of(remembered: Remembered) -> Self {
        let Remembered { head, contents, waiting } = remembered;
        Known { head: Some(Some(head)), contents, waiting, ..Known::default() }
    }

    pub fn add(&mut self, loaded: Loaded) {
        let Loaded {
            head, rows, contents, oldest, newest, all, dead, claims, claim_rules, marked, cold_filter, ..
        } = loaded;
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
        self.newest = newest.or(self.newest.take());
        self.all |= all;
        self.dead.extend(dead);
        self.claims.extend(claims.into_iter().map(|claimable| (claimable.key.clone(), claimable)));
        self.claim_rules = claim_rules.or(self.claim_rules.take());
        self.marked = marked.or(self.marked.take());
        self.cold_filter = cold_filter.or(self.cold_filter.take());
    }

    pub fn row(&self, content: Content) -> Option<&Option<StoredRow>> {
        self.rows.get(&content).or_else(|| self.contents.lacks(content).then_some(&None))
    }

    pub fn rows(&self) -> impl Iterator<Item = (Content, &StoredRow)> {
        self.rows.iter().filter_map(|(content, row)| Some((*content, row.as_ref()?)))
    }

    /// Whether the row of this content is known, in the head or outside.
    pub fn has_row(&self, content: Content) -> bool {
        let current = self.head.as_ref().and_then(Option::as_ref).and_then(|head| head.current.as_ref());
        current.is_some_and(|(current, _)| *current == content) || self.row(content).is_some()
    }

    /// The contents found dead by these moments.
    pub fn dead(&self, asked: (u64, u64)) -> Option<&Dead> {
        self.dead.iter().find(|dead| dead.asked == asked)
    }

    pub fn claim(&self, key: &ClaimKey) -> Option<&Claimable> {
        self.claims.get(key)
    }
}

/// An unknown item is an error: the need to read it.
impl StoredUser for &Known {
    type Error = Need;
    type Claims = Vec<(Day, Arc<str>)>;

    fn at_hand(&mut self) -> Result<AtHand, Need> {
        let Some(head) = self.head.as_ref().ok_or(Need::Head)? else { return Ok(AtHand::default()) };
        let row = head.current.as_ref().map(|(content, stored)| (*content, stored.row.clone()));
        Ok(AtHand { forgetting: head.forgetting.clone(), row, contents: self.contents.count() })
    }

    fn row(&mut self, content: Content) -> Result<Option<ContentRow>, Need> {
        let stored = Known::row(self, content).ok_or(Need::Row(content))?;
        Ok(stored.as_ref().map(|stored| stored.row.clone()))
    }

    fn contents(&mut self) -> Result<u32, Need> {
        self.contents.count().ok_or(Need::Contents)
    }

    fn newest_record(&mut self, oldest: u64, is_drafted: impl Fn(Content) -> bool) -> Result<u64, Need> {
        let (newest, all) = self.newest.as_ref().ok_or(Need::Newest(FEW))?;
        match newest.iter().find(|(_, content)| !is_drafted(*content)) {
            Some((at, _)) => Ok(if *at >= oldest { *at } else { 0 }),
            None if *all => Ok(0),
            None => Err(Need::Newest(2 * newest.len().max(FEW))),
        }
    }

    fn first_to_go(&mut self, is_drafted: impl Fn(Content) -> bool) -> Result<Option<(Eviction, Content)>, Need> {
        let (oldest, all) = self.oldest.as_ref().ok_or(Need::Oldest(1))?;
        match oldest.iter().find(|(_, content)| !is_drafted(*content)) {
            None if !all => Err(Need::Oldest(2 * oldest.len().max(FEW))),
            first => Ok(first.copied()),
        }
    }

    fn dead(&mut self, forgetting: &UserRow, horizon: u64, _: impl Fn(Content) -> bool) -> Result<DeadContents, Need> {
        let (records, tombstones) = dead_until(forgetting.watermark, horizon);
        let dead = Known::dead(self, (records, tombstones)).ok_or(Need::Dead(records, tombstones))?;
        Ok(DeadContents { contents: dead.contents.clone(), more: dead.more })
    }

    fn all(&mut self) -> Result<Vec<(Content, ContentRow)>, Need> {
        match self.all {
            true => Ok(self.rows().map(|(content, stored)| (content, stored.row.clone())).collect()),
            false => Err(Need::All),
        }
    }

    fn is_claimed(&mut self, key: &ClaimKey, erased: bool) -> Result<bool, Need> {
        let found = self.claim(key).ok_or_else(|| Need::Claim(key.clone()))?;
        // An erasure cannot remove claims from a filter.
        Ok(found.claimed && !(erased && found.exact))
    }

    fn claims(&mut self) -> Result<Vec<(Day, Arc<str>)>, Need> {
        self.claim_rules.clone().ok_or(Need::ClaimRules)
    }
}

/// The moments of [`Need::Dead`].
pub fn dead_until(watermark: u64, horizon: u64) -> (u64, u64) {
    (oldest_live(watermark, horizon) - 1, horizon)
}
