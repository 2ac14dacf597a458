//! The cap on contents per user.
//!
//! A new content beyond the cap takes the place of the first by [`Eviction`](crate::model::forgetting::Eviction): the
//! oldest deleted one, or else the oldest. The user's floor rises to the newest moment that was known of it, so that it
//! cannot come back older than it was. A beat whose content would have to go first itself is superseded at once; a
//! deletion whose content would raises the floor.

use super::{Decider, Draft, StoredUser};
use crate::model::ids::Content;
use crate::model::transition::Cause;

/// After the cap was lowered, each new content makes at most so many give way, so that no commit has to remove all that
/// is too much.
const EVICTIONS_MAX: u32 = 2;

impl Decider<'_> {
    /// Makes room for a content that was not there before and whose row is put already. False: it would have to go
    /// first itself.
    pub(super) fn make_room<S: StoredUser>(&mut self, draft: &mut Draft<S>, new: Content) -> Result<bool, S::Error> {
        let eviction = draft.content(new)?.1.row.eviction();
        let contents = draft.contents()?;
        let mut evicted = 0;
        while contents - evicted >= self.contents_max && evicted < EVICTIONS_MAX {
            let Some((first, content)) = draft.first_to_go(new)? else { break };
            if eviction <= first {
                break;
            }
            let (_, kept) = draft.content(content)?;
            let row = std::mem::take(&mut kept.row);
            kept.changed = true;
            self.tell_gone(row.record, Cause::Cap);
            raise_floor(draft, first.newest);
            evicted += 1;
        }
        let fits = contents < self.contents_max || evicted > 0;
        if fits {
            draft.put_contents(contents - evicted + 1);
        }
        Ok(fits)
    }
}

/// A content without a record takes only beats that are newer than the floor.
pub(super) fn raise_floor<S: StoredUser>(draft: &mut Draft<S>, at: u64) {
    if draft.forgetting().floor < at {
        let mut row = draft.forgetting().clone();
        row.floor = at;
        draft.put_forgetting(row);
    }
}
