//! The cap on contents per user.
//!
//! A new content beyond the cap takes the place of the content that is first by
//! [`Eviction`](crate::forgetting::Eviction): the oldest deleted one, or else the oldest. The user's floor rises
//! to the newest moment of the evicted content, so that an old beat cannot bring it back. If the new content would
//! itself be evicted first, its beat is superseded at once, and its deletion raises the floor.

use super::{Decider, Draft, StoredUser};
use crate::ids::Content;
use crate::transition::Cause;

/// Evictions for one new content after the cap was lowered. The bound keeps a commit from removing the whole excess at
/// once.
const EVICTIONS_MAX: u32 = 2;

impl Decider<'_> {
    /// Makes room for a new content whose row is already put. False: the new content would be evicted first.
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
