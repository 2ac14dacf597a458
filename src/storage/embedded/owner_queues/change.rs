//! Changes by the API.

use std::time::{Duration, Instant};

use super::control::Control;
use super::draft::Draft;
use super::head::{Live, Replaying};
use super::tables::Events;
use model::subscribers::{PauseReason, State, Status, SubscriberId};
use storage::owner_queues::{Change, Changed, Line, Version};
use storage::store_error::StoreError;

/// Decided on `version`. `next`: the version that it gets.
pub fn change(
    draft: &mut Draft,
    control: &mut Control,
    id: &SubscriberId,
    version: Version,
    change: &Change,
    next: Version,
) -> Result<Changed, StoreError> {
    let (head, now) = (draft.head(id)?.clone(), Instant::now());
    if head.version != version {
        return Ok(Changed::Moved(head.version));
    }
    let made = head.live.is_none();
    if made && matches!(change, Change::Delete) && draft.view.stored_head(id)?.is_err() {
        draft.undefine(id);
        draft.head_mut(id)?.version = next;
        return Ok(Changed::Done { version: next, made: false, leased_for: Duration::ZERO });
    }
    if made && !matches!(change, Change::Put { .. }) {
        return Ok(Changed::Missing { leased_for: control.leased_for(id, now) });
    }
    let mut live = head.live.unwrap_or_else(|| Live::new(next, Default::default()));
    let mut leased_for = control.leased_for(id, now);
    match change {
        Change::Put { subscriber, ends } => {
            if made {
                live.at = ends.clone();
            }
            live.status = revived(&live.status);
            (live.due, live.slow) = (0, false);
            draft.define(id, subscriber);
        }
        Change::Redefine { subscriber } => draft.define(id, subscriber),
        Change::Delete => {
            draft.discard(Events::Queues, live.place);
            draft.discard(Events::Dead, live.incarnation);
            draft.undefine(id);
            leased_for = control.void(id, now);
        }
        Change::Pause => live.status = Status { state: State::Paused(PauseReason::Requested), ..live.status },
        Change::Resume => {
            live.status = Status { state: State::Active, failing: None, ..live.status };
            (live.due, live.slow) = (0, false);
        }
        Change::Replay { after } => {
            draft.discard(Events::Queues, live.place);
            leased_for = control.void(id, now);
            live.replay = Some(Replaying::default());
            (live.place, live.at) = (next, after.clone());
            (live.depth, live.bytes) = (0, 0);
        }
    }
    settle(control, id, &live, change, now);
    let head = draft.head_mut(id)?;
    head.version = next;
    head.live = (!matches!(change, Change::Delete)).then_some(live);
    Ok(Changed::Done { version: next, made, leased_for })
}

/// Puts the owner where it belongs.
fn settle(control: &mut Control, id: &SubscriberId, live: &Live, change: &Change, now: Instant) {
    control.set_line(id, if matches!(change, Change::Delete) { Line::Quick } else { live.line() });
    match change {
        Change::Delete => control.leave(id),
        _ if !live.has_work() => control.leave(id),
        Change::Put { .. } | Change::Resume => control.put_after_lease(id, now),
        _ => control.enter_after_lease(id, now),
    }
}

/// A replaced owner is tried again; one that is paused stays so.
fn revived(status: &Status) -> Status {
    match status.state {
        State::Paused(_) => Status { failing: None, last_failure: None, ..status.clone() },
        State::Active | State::Disabled => Status::default(),
    }
}
