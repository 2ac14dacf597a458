//! Leases: given, and ended.

use std::time::{Duration, Instant};

use super::control::Control;
use super::draft::Draft;
use super::tables::View;
use model::subscribers::{State, SubscriberId};
use storage::owner_queues::{BYTES_MAX, Done, ENTRIES_MAX, Ended, Entry, Fence, Limit, Taken};
use storage::store_error::StoreError;

/// Leases owners that are due, from what is committed.
pub fn take(view: &View, control: &mut Control, limit: Limit, lease: Duration) -> Result<Vec<Taken>, StoreError> {
    let now = Instant::now();
    control.forget_old_leases(now);
    let mut all = Vec::new();
    for owner in control.due(now, limit) {
        let head = view.head(&owner)?;
        let Some(live) = head.live.filter(|live| live.has_work()) else {
            control.leave(&owner);
            continue;
        };
        let entries = within(view.entries(&live, ENTRIES_MAX)?);
        if entries.is_empty() {
            control.leave(&owner);
            continue;
        }
        let Ok(subscriber) = view.definition(&owner)? else {
            // It is due again when it is put anew, or by its next event.
            control.leave(&owner);
            continue;
        };
        let fence = control.lease(&owner, head.version, now + lease);
        let line = control.line(&owner);
        all.push(Taken { owner, line, subscriber, status: live.status, fence, entries });
    }
    Ok(all)
}

/// As many as fit into [`BYTES_MAX`], and at least one.
fn within(mut entries: Vec<Entry>) -> Vec<Entry> {
    let mut bytes = 0;
    let fitting = entries.iter().take_while(|entry| {
        bytes += entry.event.len();
        bytes <= BYTES_MAX
    });
    let count = fitting.count().max(1);
    entries.truncate(count);
    entries
}

/// `now`: milliseconds since 1970.
pub fn done(
    draft: &mut Draft,
    control: &mut Control,
    owner: &SubscriberId,
    fence: Fence,
    done: &Done,
    now: u64,
) -> Result<Ended, StoreError> {
    let at = Instant::now();
    let Some(lease) = control.lease_of(owner).filter(|lease| lease.fence == fence) else { return Ok(Ended::Fenced) };
    if lease.is_void {
        // Nothing begins under it any more, so what waits for its end may go on.
        control.end_lease(owner, at);
        if draft.head(owner)?.live.as_ref().is_some_and(|live| live.has_work()) {
            control.put_after_lease(owner, at);
        }
        return Ok(Ended::Fenced);
    }
    // It was done, and the answer was lost.
    if lease.is_ended {
        return Ok(Ended::Done);
    }
    let Some(live) = draft.head(owner)?.live.clone() else { return Ok(Ended::Fenced) };
    if let Some(to) = done.delivered_to {
        let delivered = draft.view.entries(&live, ENTRIES_MAX)?;
        for entry in delivered.iter().filter(|entry| entry.number <= to) {
            draft.remove(owner, entry)?;
        }
    }
    // A change by the API since then counts more than the result of the last try.
    let is_same = draft.head(owner)?.version == lease.version;
    let Some(live) = draft.live_mut(owner)? else { return Ok(Ended::Fenced) };
    live.delivered += done.delivered;
    let mut pause = Duration::ZERO;
    if is_same && live.status.state == State::Active {
        pause = done.pause;
        live.status = done.status.clone();
        live.slow = done.slow;
        control.set_line(owner, live.line());
    }
    live.due = if pause.is_zero() { 0 } else { now + pause.as_millis() as u64 };
    match live.has_work() {
        true => control.put(owner, at + pause),
        false => control.leave(owner),
    }
    control.end_lease(owner, at);
    Ok(Ended::Done)
}
