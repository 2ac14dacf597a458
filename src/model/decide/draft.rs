//! The draft of one user: the stored rows, with the changes of a group.
//!
//! Later changes of a group see the earlier ones here. Nothing is stored until the whole group is decided; then the
//! store writes what has [changed](Drafted).

use std::collections::{HashMap, HashSet};

use super::stored::{AtHand, DeadContents, StoredUser};
use crate::forgetting::{ContentRow, ErasedRows, Eviction, UserRow};
use crate::ids::Content;
use crate::record::Record;
use crate::rewards::claim::{Claim, ClaimKey};
use crate::transition::Cause;

/// Up to this count, rows are searched one by one; beyond it, by an index.
const FEW: usize = 8;

/// Reads rows and claims of the store when they are needed, each row once.
pub struct Draft<S: StoredUser> {
    stored: S,
    drafted: Drafted<S::Claims>,
    /// Boxed, since most drafts have one row and no claim.
    index: Option<Box<Index>>,
    /// Contents that were pruned before the stored ones were counted, so that the count lacks them.
    uncounted: u32,
}

#[derive(Default)]
struct Index {
    /// The index of each row in `rows`, once there are many rows.
    row_indexes: HashMap<Content, usize>,
    /// Claims of this group, without those that a later erasure of the group removed.
    claimed: HashSet<ClaimKey>,
}

/// One user as the store has to write it.
pub struct Drafted<C> {
    pub forgetting: UserRow,
    pub forgetting_changed: bool,
    /// The rows that were read, with their changes.
    pub rows: Vec<DraftRow>,
    /// The count of the user's contents, if it is known.
    pub contents: Option<u32>,
    /// All stored rows are removed: `rows` holds all that is kept, to be written anew.
    pub erased: bool,
    /// The content of the last written beat.
    pub playing: Option<Content>,
    pub claims: Vec<DraftClaim>,
    /// The stored claims to remove.
    pub erased_claims: Option<C>,
    /// The pruning that left nothing expired or forgotten.
    pub pruned: Option<Pruned>,
}

/// One content. Its row is empty if nothing is kept.
pub struct DraftRow {
    pub content: Content,
    pub row: ContentRow,
    pub changed: bool,
    /// There is a row in the store.
    pub is_stored: bool,
    /// The row is that of the history store, and has not changed: the store has none.
    pub is_cold: bool,
}

impl DraftRow {
    /// Whether the content is not among those that the store keeps.
    pub(super) fn is_new(&self) -> bool {
        self.is_cold || self.row.is_empty()
    }

    /// Notes a change of the row. A cold row becomes one of the store; what it was before has left the store already.
    pub(super) fn change(&mut self) {
        (self.changed, self.is_cold) = (true, false);
    }
}

pub struct DraftClaim {
    pub claim: Claim,
    /// The index in the group of the change that made the claim.
    pub change: usize,
    /// False: a later erasure of the group removed the claim, so that only its event or its view remains.
    pub kept: bool,
}

/// The horizon and watermark that everything was pruned by.
#[derive(Clone, Copy)]
pub struct Pruned {
    pub horizon: u64,
    pub watermark: u64,
}

impl<S: StoredUser> Draft<S> {
    pub fn new(mut stored: S) -> Result<Self, S::Error> {
        let AtHand { forgetting, row, contents } = stored.at_hand()?;
        let row = row.map(|(content, row)| DraftRow { content, row, changed: false, is_stored: true, is_cold: false });
        let drafted = Drafted {
            forgetting,
            forgetting_changed: false,
            rows: row.into_iter().collect(),
            contents,
            erased: false,
            playing: None,
            claims: Vec::new(),
            erased_claims: None,
            pruned: None,
        };
        Ok(Draft { stored, drafted, index: None, uncounted: 0 })
    }

    pub fn drafted(&self) -> &Drafted<S::Claims> {
        &self.drafted
    }

    pub fn finish(self) -> Drafted<S::Claims> {
        self.drafted
    }

    pub(super) fn forgetting(&self) -> &UserRow {
        &self.drafted.forgetting
    }

    pub(super) fn put_forgetting(&mut self, row: UserRow) {
        self.drafted.forgetting = row;
        self.drafted.forgetting_changed = true;
    }

    /// The row of one content, and what the user has asked to forget.
    pub(super) fn content(&mut self, content: Content) -> Result<(&UserRow, &mut DraftRow), S::Error> {
        let row_index = match self.find(content) {
            Some(row_index) => row_index,
            None => {
                let stored = if self.drafted.erased { None } else { self.stored.row(content)? };
                self.push(content, stored)
            }
        };
        Ok((&self.drafted.forgetting, &mut self.drafted.rows[row_index]))
    }

    /// Whether the store has a row of this content, or the group has made one.
    pub fn has_row(&mut self, content: Content) -> Result<bool, S::Error> {
        Ok(!self.content(content)?.1.row.is_empty())
    }

    /// Gives a content without a row the row that the history store has.
    pub fn put_cold(&mut self, content: Content, row: ContentRow) -> Result<(), S::Error> {
        let (_, draft) = self.content(content)?;
        debug_assert!(draft.row.is_empty(), "a row of the store counts");
        (draft.is_cold, draft.row) = (!row.is_empty(), row);
        Ok(())
    }

    /// A beat of this content was written.
    pub(super) fn plays(&mut self, content: Content) {
        self.drafted.playing = Some(content);
    }

    /// The `at` of the newest record that reads return, milliseconds; 0 = no record.
    pub(super) fn newest_record(&mut self, horizon: u64) -> Result<u64, S::Error> {
        let Drafted { forgetting, rows, erased, .. } = &self.drafted;
        let live = |draft: &DraftRow| draft.row.live(forgetting, horizon).map(|record| record.at);
        let drafted = rows.iter().filter_map(live).max().unwrap_or(0);
        if *erased {
            return Ok(drafted);
        }
        let is_drafted = |content| find(rows, &self.index, content).is_some();
        Ok(drafted.max(self.stored.newest_record(forgetting.oldest_live(horizon), is_drafted)?))
    }

    /// The count of kept contents. A content whose row was just put for the first time is not counted.
    pub(super) fn contents(&mut self) -> Result<u32, S::Error> {
        if let Some(contents) = self.drafted.contents {
            return Ok(contents);
        }
        let contents = self.stored.contents()?.saturating_sub(self.uncounted);
        self.drafted.contents = Some(contents);
        Ok(contents)
    }

    pub(super) fn put_contents(&mut self, contents: u32) {
        self.drafted.contents = Some(contents);
    }

    /// The content that is evicted first at the cap, other than `except`.
    pub(super) fn first_to_go(&mut self, except: Content) -> Result<Option<(Eviction, Content)>, S::Error> {
        let Drafted { rows, erased, .. } = &self.drafted;
        let kept = rows.iter().filter(|draft| !draft.is_new() && draft.content != except);
        let drafted = kept.map(|draft| (draft.row.eviction(), draft.content)).min();
        if *erased {
            return Ok(drafted);
        }
        let stored = self.stored.first_to_go(|content| find(rows, &self.index, content).is_some())?;
        Ok(drafted.into_iter().chain(stored).min())
    }

    /// Empties all rows but those with a record newer than `upto`, and gives the records to `gone`, in the order of
    /// their contents.
    pub(super) fn erase(&mut self, upto: u64, mut gone: impl FnMut(Record)) -> Result<ErasedRows, S::Error> {
        if !self.drafted.erased {
            for (content, row) in self.stored.all()? {
                if self.find(content).is_none() {
                    self.push(content, Some(row));
                }
            }
        }
        let (mut erased, mut kept) = (ErasedRows::default(), 0);
        for draft in self.sorted().iter_mut().filter(|draft| !draft.is_cold) {
            draft.changed = true;
            draft.row.erase(upto, &mut erased).into_iter().for_each(&mut gone);
            kept += u32::from(!draft.row.is_empty());
        }
        let Drafted { rows, playing, .. } = &mut self.drafted;
        let is_kept = |content: &Content| rows.iter().any(|row| row.content == *content && !row.row.is_empty());
        *playing = playing.filter(is_kept);
        (self.drafted.erased, self.drafted.contents) = (true, Some(kept));
        Ok(erased)
    }

    /// Drops what reads can no longer return, and gives the records to `gone`, in the order of their contents. True:
    /// more remains than one commit may remove.
    pub(super) fn prune(&mut self, horizon: u64, mut gone: impl FnMut(Record, Cause)) -> Result<bool, S::Error> {
        let mut more = false;
        if !self.drafted.erased {
            let Drafted { forgetting, rows, .. } = &self.drafted;
            let is_drafted = |content| find(rows, &self.index, content).is_some();
            let dead = self.stored.dead(forgetting, horizon, is_drafted)?;
            let DeadContents { contents, more: others } = dead;
            more = others;
            for content in contents {
                let (_, draft) = self.content(content)?;
                // A store may name a content that has no row: then it has something else to remove.
                draft.changed |= !draft.is_stored && draft.row.is_empty();
            }
        }
        let forgetting = self.drafted.forgetting.clone();
        let mut emptied = 0;
        for draft in self.sorted().iter_mut().filter(|draft| !draft.is_new()) {
            let dead = draft.row.take_dead(&forgetting, horizon);
            draft.changed |= dead.is_some() | draft.row.prune(&forgetting, horizon);
            emptied += u32::from(draft.row.is_empty());
            dead.into_iter().for_each(|(record, cause)| gone(record, cause));
        }
        let drafted = &mut self.drafted;
        match &mut drafted.contents {
            Some(contents) => *contents = contents.saturating_sub(emptied),
            // No content has been added yet, so the emptied rows are stored ones.
            None => self.uncounted += emptied,
        }
        more &= drafted.rows.iter().any(|draft| draft.changed);
        drafted.pruned = (!more).then_some(Pruned { horizon, watermark: forgetting.watermark });
        Ok(more)
    }

    pub(super) fn is_claimed(&mut self, key: &ClaimKey) -> Result<bool, S::Error> {
        let claimed = self.index.as_ref().is_some_and(|index| index.claimed.contains(key));
        Ok(claimed || self.stored.is_claimed(key, self.drafted.erased_claims.is_some())?)
    }

    /// Adds a claim, with its entry in the outbox, or the view that it counts.
    pub(super) fn claim(&mut self, change: usize, claim: Claim) {
        self.index.get_or_insert_default().claimed.insert(claim.key.clone());
        self.drafted.claims.push(DraftClaim { claim, change, kept: true });
    }

    /// Removes all claims of the user. Entries in the outbox stay.
    pub(super) fn erase_claims(&mut self) -> Result<(), S::Error> {
        if self.drafted.erased_claims.is_none() {
            self.drafted.erased_claims = Some(self.stored.claims()?);
        }
        self.index.iter_mut().for_each(|index| index.claimed.clear());
        self.drafted.claims.iter_mut().for_each(|made| made.kept = false);
        Ok(())
    }

    fn find(&self, content: Content) -> Option<usize> {
        find(&self.drafted.rows, &self.index, content)
    }

    fn push(&mut self, content: Content, stored: Option<ContentRow>) -> usize {
        let rows = &mut self.drafted.rows;
        let row_index = rows.len();
        let is_stored = stored.is_some();
        rows.push(DraftRow { content, row: stored.unwrap_or_default(), changed: false, is_stored, is_cold: false });
        if row_index == FEW {
            self.index.get_or_insert_default().row_indexes = row_indexes(rows);
        } else if row_index > FEW {
            self.index.get_or_insert_default().row_indexes.insert(content, row_index);
        }
        row_index
    }

    /// All rows, from now on in the order of their contents.
    fn sorted(&mut self) -> &mut [DraftRow] {
        let rows = &mut self.drafted.rows;
        rows.sort_unstable_by_key(|draft| draft.content);
        if rows.len() > FEW {
            self.index.get_or_insert_default().row_indexes = row_indexes(rows);
        }
        rows
    }
}

fn find(rows: &[DraftRow], index: &Option<Box<Index>>, content: Content) -> Option<usize> {
    match rows.len() <= FEW {
        true => rows.iter().position(|draft| draft.content == content),
        false => index.as_ref()?.row_indexes.get(&content).copied(),
    }
}

fn row_indexes(rows: &[DraftRow]) -> HashMap<Content, usize> {
    rows.iter().zip(0..).map(|(draft, row_index)| (draft.content, row_index)).collect()
}
