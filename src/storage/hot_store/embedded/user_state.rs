//! What a draft shows the decider of one user.
//!
//! To find the first content to give way at the cap, all of the user's rows are looked through once and the first
//! [`CANDIDATES_MAX`] are remembered, so that a user at the cap who opens one new content after the other does not hold up
//! the commits of others.
//!
//! [`CANDIDATES_MAX`]: super::candidates::CANDIDATES_MAX

use super::candidates::Candidates;
use super::draft::Draft;
use super::tables::ReadError;
use crate::model::decide::{KeptContent, UserState};
use crate::model::forgetting::{Eviction, UserRow};
use crate::model::ids::{Content, UserId};
use crate::model::record::Record;
use crate::model::rewards::claim::{Claim, ClaimKey};
use crate::model::transition::Cause;

/// Rows that are pruned by one change, so that a commit does not wait long for it.
const PRUNED_MAX: usize = 256;

pub struct DraftedUser<'d, 't> {
    pub draft: &'d mut Draft<'t>,
    pub user: UserId,
}

impl UserState for DraftedUser<'_, '_> {
    type Error = ReadError;

    fn forgetting(&mut self) -> Result<&UserRow, ReadError> {
        self.draft.user(self.user)
    }

    fn put_forgetting(&mut self, row: UserRow) -> Result<(), ReadError> {
        let drafted = self.draft.user_mut(self.user)?;
        drafted.row = row;
        drafted.row_changed = true;
        Ok(())
    }

    fn content(&mut self, content: Content) -> Result<KeptContent<'_>, ReadError> {
        let (forgetting, drafted) = self.draft.user_and_content(self.user, content)?;
        Ok(KeptContent { forgetting, row: &mut drafted.row, changed: &mut drafted.changed })
    }

    fn newest_record(&mut self, horizon: u64) -> Result<u64, ReadError> {
        let forgetting = self.draft.user(self.user)?.clone();
        let mut newest = 0;
        self.draft.visit(self.user, |_, row| {
            newest = newest.max(row.live(&forgetting, horizon).map_or(0, |record| record.at));
        })?;
        Ok(newest)
    }

    fn contents(&mut self) -> Result<u32, ReadError> {
        if let Some(contents) = self.draft.contents_of(self.user)? {
            return Ok(contents);
        }
        // Until now the group has added nothing to this user, so the stored rows are all.
        let contents = self.draft.view.count_of(self.user)?;
        self.draft.user_mut(self.user)?.contents = Some(contents);
        Ok(contents)
    }

    fn put_contents(&mut self, contents: u32) -> Result<(), ReadError> {
        self.draft.user_mut(self.user)?.contents = Some(contents);
        Ok(())
    }

    fn first_to_go(&mut self, except: Content) -> Result<Option<(Eviction, Content)>, ReadError> {
        let mut looked_through = false;
        loop {
            let first = self.draft.candidates(self.user).and_then(|candidates| candidates.first());
            let Some((remembered, content)) = first else {
                if looked_through {
                    return Ok(None);
                }
                self.look_through(except)?;
                looked_through = true;
                continue;
            };
            let row = &self.draft.content(self.user, content)?.row;
            let now = (!row.is_empty() && content != except).then(|| row.eviction());
            if now == Some(remembered) {
                return Ok(Some((remembered, content)));
            }
            if let Some(candidates) = self.draft.candidates(self.user) {
                candidates.drop_first();
                if let Some(now) = now {
                    candidates.offer(now, content);
                }
            }
        }
    }

    fn goes_sooner(&mut self, content: Content) -> Result<(), ReadError> {
        let eviction = self.draft.content(self.user, content)?.row.eviction();
        if let Some(candidates) = self.draft.candidates(self.user) {
            candidates.offer(eviction, content);
        }
        Ok(())
    }

    fn erase_contents(&mut self, erased: impl FnMut(Record)) -> Result<u64, ReadError> {
        self.draft.take_contents(self.user, erased)
    }

    fn prune_contents(&mut self, horizon: u64, mut gone: impl FnMut(Record, Cause)) -> Result<bool, ReadError> {
        let forgetting = self.draft.user(self.user)?.clone();
        let mut dead = self.draft.dead_of(self.user, horizon, PRUNED_MAX + 1)?;
        let more = dead.len() > PRUNED_MAX;
        dead.truncate(PRUNED_MAX);
        let mut emptied = 0;
        for content in &dead {
            let drafted = self.draft.content(self.user, *content)?;
            let record = drafted.row.take_dead(&forgetting, horizon);
            drafted.row.prune(&forgetting, horizon);
            drafted.changed = true;
            emptied += u32::from(drafted.row.is_empty());
            record.into_iter().for_each(|(record, cause)| gone(record, cause));
        }
        if !dead.is_empty() {
            self.draft.forget_candidates(self.user);
        }
        if emptied > 0 {
            let contents = self.contents()?;
            self.put_contents(contents - emptied)?;
        }
        Ok(more)
    }

    fn is_claimed(&mut self, key: &ClaimKey) -> Result<bool, ReadError> {
        self.draft.claims.is_known(key, &self.draft.view)
    }

    fn claim(&mut self, claim: Claim) {
        self.draft.claims.make(claim);
    }

    fn erase_claims(&mut self) -> Result<(), ReadError> {
        self.draft.claims.erase(self.user, &self.draft.view)
    }
}

impl DraftedUser<'_, '_> {
    fn look_through(&mut self, except: Content) -> Result<(), ReadError> {
        let mut rows = Vec::new();
        self.draft.visit(self.user, |content, row| {
            if content != except {
                rows.push((row.eviction(), content));
            }
        })?;
        self.draft.put_candidates(self.user, Candidates::among(rows));
        Ok(())
    }
}
