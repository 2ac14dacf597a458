//! Removal of events that exceed the bounds of a queue or of its dead letters: the oldest first.

use super::draft::Draft;
use model::subscribers::SubscriberId;
use storage::owner_queues::{Bounds, DeadReason};
use storage::store_error::StoreError;

/// Events that go in one step; more go with the next.
const STEP_MAX: usize = 4_096;

/// Moves what is too much or too old to the dead letters. How many events these were, and whether there are more.
/// Nothing else of the draft may have changed the queue.
pub fn trim(draft: &mut Draft, owner: &SubscriberId, bounds: &Bounds, now: u64) -> Result<(u64, bool), StoreError> {
    let Some(live) = draft.head(owner)?.live.clone() else { return Ok((0, false)) };
    if live.depth == 0 {
        return Ok((0, false));
    }
    let horizon = now.saturating_sub(bounds.age.as_millis() as u64);
    let (mut depth, mut bytes, mut died) = (live.depth, live.bytes, 0);
    let is_over = |depth: u64, bytes: u64| depth > bounds.events || bytes > bounds.bytes && depth > 1;
    // The usual case takes one look.
    let looked_at = if is_over(depth, bytes) { STEP_MAX } else { 1 };
    let mut entries = draft.view.entries(&live, looked_at)?;
    if entries.first().is_some_and(|oldest| oldest.queued_at < horizon) && looked_at == 1 {
        entries = draft.view.entries(&live, STEP_MAX)?;
    }
    for entry in &entries {
        let reason = match entry.queued_at < horizon {
            true => DeadReason::TooOld,
            false if is_over(depth, bytes) => DeadReason::QueueFull,
            false => return Ok((died, false)),
        };
        draft.remove(owner, entry)?;
        draft.bury(owner, entry, reason, now)?;
        depth -= 1;
        bytes = bytes.saturating_sub(entry.event.len() as u64);
        died += 1;
    }
    Ok((died, died > 0 && depth > 0))
}

/// Drops the oldest dead letters that are too much. How many these were.
/// Nothing else of the draft may have changed them.
pub fn drop_dead(draft: &mut Draft, owner: &SubscriberId, bounds: &Bounds) -> Result<u64, StoreError> {
    let Some(live) = draft.head(owner)?.live.clone() else { return Ok(0) };
    let (mut dead, mut bytes, mut dropped) = (live.dead, live.dead_bytes, 0);
    if dead <= bounds.events && bytes <= bounds.bytes {
        return Ok(0);
    }
    for letter in draft.view.dead(&live, 0, STEP_MAX)? {
        if dead <= bounds.events && bytes <= bounds.bytes {
            break;
        }
        draft.unbury(owner, letter.number, &letter.event)?;
        draft.head_mut(owner)?.dropped += 1;
        dead -= 1;
        bytes = bytes.saturating_sub(letter.event.len() as u64);
        dropped += 1;
    }
    Ok(dropped)
}
