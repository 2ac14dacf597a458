//! Contents whose rows have left the hot store.
//!
//! ```text
//! the store was rebuilt, and the user has no head ─▶ Outcome::Cold, until the head is made
//!
//! a change of a content without a row ─▶ newer than all that has left? ─▶ decided as new
//!                                          │ no
//!                                          ▼
//!                            not in the cold filter? ─▶ decided as new
//!                                          │ maybe in it
//!                                          ▼
//!                   its row of the history store came with the group? ─▶ decided on that row
//!                                          │ no
//!                                          ▼
//!                                    Outcome::Cold
//! ```
//!
//! A row of the history store counts as long as the head's mark is the one under which it was read: all writes of the
//! content since then are in the hot store.

use super::known::{Known, Need};
use super::limits::Limits;
use crate::hot_store::Group;
use model::change::Action;
use model::cold::{ColdContents, ColdMark};
use model::decide::Draft;
use model::ids::Content;

impl Known {
    /// The mark of what has left the hot store, if anything has that a read may still return.
    pub fn cold_mark(&self, watermark: u64, horizon: u64) -> Option<ColdMark> {
        let head = self.head.as_ref()?.as_deref()?;
        head.cold.filter(|mark| !mark.is_void(watermark, horizon))
    }

    /// Gives the draft the rows of the history store that the change of this index needs. Returns the contents that must
    /// be read first, if any.
    pub fn warm(
        &self,
        draft: &mut Draft<&Known>,
        group: &Group,
        index: usize,
        limits: &Limits,
    ) -> Result<Option<ColdContents>, Need> {
        if limits.is_rebuilt && self.head.as_ref().is_some_and(Option::is_none) {
            let is_pruned = matches!(group.changes[index].action, Action::Prune { .. });
            return Ok((!is_pruned).then(ColdContents::of_unread));
        }
        let horizon = limits.retention.horizon(group.now);
        let watermark = draft.drafted().forgetting.watermark;
        let Some(mark) = self.cold_mark(watermark, horizon) else { return Ok(None) };
        // A beat up to the watermark is refused anyway. A delete would leave a tombstone.
        let is_late = |is_beat: bool, at: u64| at <= mark.floor && !(is_beat && at <= watermark);
        let mut missing = Vec::new();
        for content in late_contents(&group.changes[index].action, is_late) {
            if draft.has_row(content)? || !self.may_be_cold(content)? {
                continue;
            }
            let found = group.cold.iter().filter(|(of, rows)| *of == index && rows.mark == mark);
            let mut found = found.flat_map(|(_, rows)| &rows.rows);
            match found.find(|(found, _)| *found == content) {
                Some((_, row)) => draft.put_cold(content, row.clone().unwrap_or_default())?,
                None => missing.push(content),
            }
        }
        Ok((!missing.is_empty()).then_some(ColdContents { mark, contents: missing }))
    }

    fn may_be_cold(&self, content: Content) -> Result<bool, Need> {
        let filter = self.cold_filter.as_ref().ok_or(Need::ColdFilter)?;
        Ok(filter.as_ref().is_none_or(|filter| filter.has(content)))
    }
}

/// The contents of the change that it may change at a late moment. `is_late`: whether it is a beat, and its moment.
fn late_contents(action: &Action, is_late: impl Fn(bool, u64) -> bool) -> Vec<Content> {
    match action {
        Action::Beat { beat, earlier, .. } => {
            let late = earlier.iter().chain([beat]).any(|beat| is_late(true, beat.at));
            if late { vec![beat.content] } else { Vec::new() }
        }
        Action::Delete { contents, at } if is_late(false, *at) => contents.clone(),
        _ => Vec::new(),
    }
}
