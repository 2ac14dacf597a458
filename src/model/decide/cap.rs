//! The cap on contents per user.
//!
//! A new content beyond the cap takes the place of the first by [`Eviction`](crate::model::forgetting::Eviction): the oldest
//! deleted one, or else the oldest. The user's floor rises to the newest moment that was known of it, so that it cannot
//! come back older than it was. A beat whose content would have to go first itself is superseded at once; a deletion
//! whose content would raises the floor.

use super::{Decider, UserState};
use crate::model::ids::Content;
use crate::model::transition::Cause;

/// After the cap was lowered, each new content makes at most so many give way, so that no commit has to remove all that
/// is too much.
const EVICTIONS_MAX: u32 = 2;

impl Decider<'_> {
    /// Makes room for a content that was not there before and whose row is put already. False: it would have to go first
    /// itself.
    pub(super) fn make_room<S: UserState>(&mut self, state: &mut S, new: Content) -> Result<bool, S::Error> {
        let eviction = state.content(new)?.row.eviction();
        let contents = state.contents()?;
        let mut evicted = 0;
        while contents - evicted >= self.contents_max && evicted < EVICTIONS_MAX {
            let Some((first, content)) = state.first_to_go(new)? else { break };
            if eviction <= first {
                break;
            }
            let kept = state.content(content)?;
            let row = std::mem::take(kept.row);
            *kept.changed = true;
            self.tell_gone(row.record, Cause::Cap);
            raise_floor(state, first.newest)?;
            evicted += 1;
        }
        let fits = contents < self.contents_max || evicted > 0;
        if fits {
            state.goes_sooner(new)?;
            state.put_contents(contents - evicted + 1)?;
        }
        Ok(fits)
    }
}

/// A content without a record takes only beats that are newer than the floor.
pub(super) fn raise_floor<S: UserState>(state: &mut S, at: u64) -> Result<(), S::Error> {
    let row = state.forgetting()?;
    if row.floor < at {
        let mut row = row.clone();
        row.floor = at;
        state.put_forgetting(row)?;
    }
    Ok(())
}
