//! Protects rows from expiry until they are carried to the history store.
//!
//! The history store has a retention of its own. Where that of the gateways is the narrower one, or has just become it,
//! rows that wait for the history store would be removed before it has them, and their user would leave the list.

use super::head::{Head, Listing};
use super::known::{Known, Need};
use super::limits::Limits;

/// Until the next look at a user whose expired rows wait, milliseconds.
pub const UNCARRIED_AGAIN_MS: u64 = 60_000;

impl Limits {
    /// Whether changes of the user wait to be carried.
    pub fn waits(&self, head: &Head) -> bool {
        self.history_interval.is_some() && head.listing == Listing::Listed
    }
}

impl Known {
    /// Whether anything waits to be carried that would have expired: a marked row, or what the head has.
    pub fn waits_expired(&self, limits: &Limits, horizon: u64) -> Result<bool, Need> {
        let head = self.head.as_ref().ok_or(Need::Head)?;
        let Some(head) = head.as_deref().filter(|head| limits.waits(head)) else { return Ok(false) };
        let current = head.current.as_ref().is_some_and(|(_, stored)| stored.row.newest() < horizon);
        if current || head.forgetting.clone().prune(horizon) {
            return Ok(true);
        }
        Ok(!self.marked.as_ref().ok_or(Need::Marked)?.is_empty())
    }
}
