//! The cap on what is kept of one user.
//!
//! A new content beyond the cap takes the place of the one with the smallest [`ContentRow::newest`], and the user's
//! floor rises to that, so that what had to go cannot come back older than it was. A beat that is itself the oldest is
//! superseded at once; a deletion that is, becomes the floor.
//!
//! To find the oldest, all of a user's rows are looked through once and the [`CANDIDATES_MAX`] oldest are remembered,
//! so that somebody who is at the cap and opens one new content after the other does not hold up everybody's commits.
//!
//! [`CANDIDATES_MAX`]: super::candidates::CANDIDATES_MAX
//! [`ContentRow::newest`]: crate::model::forgetting::ContentRow::newest

use super::candidates::Candidates;
use super::draft::Draft;
use super::tables::ReadError;
use crate::model::ids::{Content, UserId};

impl Draft<'_> {
    /// Makes room for a content that was not there before and whose row, with `newest`, is drafted already.
    /// False: it is the oldest itself.
    pub fn make_room(&mut self, user: UserId, new: Content, newest: u64, contents_max: u32) -> Result<bool, ReadError> {
        let count = match self.contents_of(user)? {
            Some(count) => count,
            // Until now the group has added nothing to this user, so the stored rows are all.
            None => self.view.count_of(user)?,
        };
        let mut evicted = 0;
        // Two at a time while the cap was lowered, so that the rest goes by and by and no commit has to do it all.
        while count - evicted >= contents_max && evicted < 2 {
            let Some((oldest, content)) = self.oldest(user, new)? else { break };
            if newest <= oldest {
                break;
            }
            self.evict(user, content, oldest)?;
            evicted += 1;
        }
        let fits = count < contents_max || evicted > 0;
        if fits && let Some(candidates) = self.candidates(user) {
            candidates.offer(newest, new);
        }
        self.user_mut(user)?.contents = Some(count - evicted + u32::from(fits));
        Ok(fits)
    }

    fn evict(&mut self, user: UserId, content: Content, newest: u64) -> Result<(), ReadError> {
        let drafted = self.content(user, content)?;
        drafted.row = Default::default();
        drafted.changed = true;
        self.raise_floor(user, newest)
    }

    pub fn raise_floor(&mut self, user: UserId, at: u64) -> Result<(), ReadError> {
        let drafted = self.user_mut(user)?;
        if drafted.row.floor < at {
            drafted.row.floor = at;
            drafted.row_changed = true;
        }
        Ok(())
    }

    /// The content that has to go first, apart from `new`.
    fn oldest(&mut self, user: UserId, new: Content) -> Result<Option<(u64, Content)>, ReadError> {
        let mut looked_through = false;
        loop {
            let Some((remembered, content)) = self.candidates(user).and_then(|candidates| candidates.first()) else {
                if looked_through {
                    return Ok(None);
                }
                self.look_through(user, new)?;
                looked_through = true;
                continue;
            };
            let row = &self.content(user, content)?.row;
            let now = (!row.is_empty() && content != new).then(|| row.newest());
            if now == Some(remembered) {
                return Ok(Some((remembered, content)));
            }
            if let Some(candidates) = self.candidates(user) {
                candidates.drop_first();
                if let Some(now) = now {
                    candidates.offer(now, content);
                }
            }
        }
    }

    fn look_through(&mut self, user: UserId, new: Content) -> Result<(), ReadError> {
        let mut rows = Vec::new();
        self.visit(user, |content, row| {
            if content != new {
                rows.push((row.newest(), content));
            }
        })?;
        self.put_candidates(user, Candidates::among(rows));
        Ok(())
    }
}
