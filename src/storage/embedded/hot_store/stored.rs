//! Reads of one user: from the cache, or else from the tables.

use std::cell::RefCell;

use fjall::{Keyspace, Slice};

use super::candidates::Candidates;
use super::claims;
use super::tables::{ReadError, View};
use super::user_cache::UserCache;
use model::decide::{AtHand, DeadContents, StoredUser};
use model::forgetting::{ContentRow, Eviction, UserRow};
use model::ids::{Content, UserId};
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;

/// Rows that one change prunes, so that it does not delay its commit for long.
const PRUNED_MAX: usize = 256;

/// A user as stored before the group.
pub struct Stored<'a> {
    pub view: &'a View<'a>,
    pub cache: &'a RefCell<&'a mut UserCache>,
    pub user: UserId,
}

/// A claim, as a key of the table of its day.
pub type StoredClaim = (Day, Keyspace, Slice);

impl Stored<'_> {
    fn undrafted(
        &self,
        is_drafted: impl Fn(Content) -> bool,
    ) -> impl Iterator<Item = Result<(Content, ContentRow), ReadError>> {
        let counts =
            move |found: &Result<(Content, _), _>| found.as_ref().map_or(true, |(content, _)| !is_drafted(*content));
        self.view.contents_of(self.user).filter(counts)
    }
}

impl StoredUser for Stored<'_> {
    type Error = ReadError;
    type Claims = Vec<StoredClaim>;

    fn at_hand(&mut self) -> Result<AtHand, ReadError> {
        self.cache.borrow_mut().take(self.user, || self.view.user(self.user))
    }

    fn row(&mut self, content: Content) -> Result<Option<ContentRow>, ReadError> {
        self.view.content(self.user, content)
    }

    fn contents(&mut self) -> Result<u32, ReadError> {
        self.view.count_of(self.user)
    }

    fn newest_record(&mut self, oldest: u64, is_drafted: impl Fn(Content) -> bool) -> Result<u64, ReadError> {
        self.undrafted(is_drafted).try_fold(0, |newest, found| {
            let record = found?.1.record.filter(|record| record.at >= oldest);
            Ok(newest.max(record.map_or(0, |record| record.at)))
        })
    }

    fn first_to_go(&mut self, is_drafted: impl Fn(Content) -> bool) -> Result<Option<(Eviction, Content)>, ReadError> {
        let full = &mut self.cache.borrow_mut().full;
        let mut looked_through = false;
        loop {
            let candidates = full.get_mut(&self.user);
            let Some((candidates, (remembered, content))) =
                candidates.and_then(|candidates| candidates.first(&is_drafted).map(|first| (candidates, first)))
            else {
                if looked_through {
                    return Ok(None);
                }
                let rows = self.view.contents_of(self.user);
                let rows = rows.map(|found| found.map(|(content, row)| (row.eviction(), content)));
                full.put(self.user, Candidates::among(rows.collect::<Result<_, _>>()?, &is_drafted));
                looked_through = true;
                continue;
            };
            let now = self.view.content(self.user, content)?.map(|row| row.eviction());
            if now == Some(remembered) {
                return Ok(Some((remembered, content)));
            }
            candidates.drop_first();
            now.into_iter().for_each(|now| candidates.offer(now, content));
        }
    }

    fn dead(
        &mut self,
        forgetting: &UserRow,
        horizon: u64,
        is_drafted: impl Fn(Content) -> bool,
    ) -> Result<DeadContents, ReadError> {
        let mut dead = DeadContents::default();
        for found in self.undrafted(is_drafted) {
            let (content, mut row) = found?;
            if row.prune(forgetting, horizon) {
                dead.more = dead.contents.len() == PRUNED_MAX;
                if dead.more {
                    break;
                }
                dead.contents.push(content);
            }
        }
        Ok(dead)
    }

    /// All rows of the user, at most as many as are kept of one. The commit of the group waits for this read.
    fn all(&mut self) -> Result<Vec<(Content, ContentRow)>, ReadError> {
        self.view.contents_of(self.user).collect()
    }

    fn is_claimed(&mut self, key: &ClaimKey, erased: bool) -> Result<bool, ReadError> {
        Ok(!erased && self.view.is_claimed(key.day, &claims::key(key))?)
    }

    fn claims(&mut self) -> Result<Vec<StoredClaim>, ReadError> {
        self.view.all_claims_of(self.user)
    }
}
