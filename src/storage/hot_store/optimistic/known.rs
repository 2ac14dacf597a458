//! What is known of one user while a group is decided.

use std::collections::HashMap;
use std::sync::Arc;

use super::contents::Contents;
use super::heads::Remembered;
use super::{Head, Loaded, StoredRow};
use crate::model::decide::{AtHand, DeadContents, StoredUser};
use crate::model::forgetting::{ContentRow, Eviction, UserRow, oldest_live};
use crate::model::ids::Content;
use crate::model::rewards::claim::ClaimKey;
use crate::model::rewards::day::Day;

/// So many are asked for first of what stands in an order; then twice as many each time.
const FEW: usize = 8;

/// Something that has to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    Head,
    /// A row outside the head.
    Row(Content),
    Contents,
    /// So many of the first to give way at the cap, without their rows. Users with fewer contents have no others.
    First(usize),
    /// So many of the first to give way at the cap, if it is more than one with their rows.
    Oldest(usize),
    /// So many of the newest records.
    Newest(usize),
    /// The rows of all contents.
    All,
    Claim(ClaimKey),
    ClaimRules,
    /// The rows of contents that are marked to be carried to the history store.
    Marked,
    /// The rows of contents that clears and the retention have left, or the first of them: records up to the first
    /// moment, tombstones before the second, milliseconds.
    Dead(u64, u64),
}

/// What clears and the retention have left, as far as the timeline knows. The content in the head may be among it: its
/// place in the timeline is older than its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dead {
    /// As [`Need::Dead`] has it.
    pub asked: (u64, u64),
    pub contents: Vec<Content>,
    /// There are others.
    pub more: bool,
    /// The moments of the oldest record and of the oldest tombstone that stay.
    pub next: [Option<u64>; 2],
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
    pub newest: Option<(Vec<(u64, Content)>, bool)>,
    /// All rows are known.
    pub all: bool,
    /// A clear within the group makes more of it.
    dead: Vec<Dead>,
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
        let Loaded { head, rows, contents, oldest, newest, all, dead, claims, claim_rules, .. } = loaded;
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

    /// What was found dead by these moments.
    pub fn dead(&self, asked: (u64, u64)) -> Option<&Dead> {
        self.dead.iter().find(|dead| dead.asked == asked)
    }

    pub fn claim(&self, key: &ClaimKey) -> Option<&Claimable> {
        self.claims.get(key)
    }
}

/// What is not known yet is an error: the need.
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
        // An erasure cannot take anything out of a filter.
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
