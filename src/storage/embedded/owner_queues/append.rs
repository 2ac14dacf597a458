//! Events that enter queues: from the cascade, from a replay, from the dead letters.

use std::time::Instant;

use super::control::Control;
use super::draft::Draft;
use model::subscribers::{State, SubscriberId};
use storage::event_bus::part::Part;
use storage::owner_queues::{Append, Appended, Bounds, Fill, Filled, RESENT_MAX};
use storage::store_error::StoreError;

pub fn append(
    draft: &mut Draft,
    control: &mut Control,
    part: &Part,
    events: &[Append],
    now: u64,
) -> Result<Appended, StoreError> {
    let (mut appended, due) = (Appended::default(), Instant::now());
    for Append { owner, incarnation, offset, event } in events {
        let Some(live) = draft.head(owner)?.live.as_ref() else {
            appended.left_out += 1;
            continue;
        };
        if live.incarnation != *incarnation || live.status.state == State::Disabled {
            appended.left_out += 1;
        } else if *offset <= live.at(part) {
            appended.old += 1;
        } else if live.replay.is_some() {
            // The replay brings it, in its order.
            let replay = draft.live_mut(owner)?.and_then(|live| live.replay.as_mut());
            let needed = replay.map(|replay| replay.needed.entry(part.clone()).or_default());
            needed.into_iter().for_each(|needed| *needed = (*needed).max(*offset));
            appended.left_out += 1;
        } else {
            draft.push(owner, now, event)?;
            draft.live_mut(owner)?.into_iter().for_each(|live| live.reach(part, *offset));
            enter(draft, control, owner, due)?;
            appended.queued += 1;
        }
    }
    Ok(appended)
}

pub fn fill(
    draft: &mut Draft,
    control: &mut Control,
    fill: &Fill,
    bounds: &Bounds,
    now: u64,
) -> Result<Filled, StoreError> {
    let Fill { owner, version, part, at, to, events, is_end, parts } = fill;
    let head = draft.head(owner)?;
    let Some(live) = head.live.as_ref().filter(|live| live.replay.is_some()) else { return Ok(Filled::Moved) };
    if head.version != *version || live.at(part) != *at || live.status.state == State::Disabled {
        return Ok(Filled::Moved);
    }
    let (mut depth, mut bytes) = (live.depth, live.bytes);
    let fitting = events.iter().take_while(|(_, event)| {
        let fits = bounds.have_room(depth, bytes, event.len());
        (depth, bytes) = (depth + 1, bytes + event.len() as u64);
        fits
    });
    let fitting = &events[..fitting.count()];
    for (_, event) in fitting {
        draft.push(owner, now, event)?;
    }
    let Some(live) = draft.live_mut(owner)? else { return Ok(Filled::Moved) };
    let is_whole = fitting.len() == events.len();
    live.reach(part, if is_whole { *to } else { fitting.last().map_or(*at, |(offset, _)| *offset) });
    let at = live.at.clone();
    let mut filled = if is_whole { Filled::More } else { Filled::Full };
    if let Some(replay) = live.replay.as_mut().filter(|_| is_whole) {
        if *is_end {
            replay.ended.insert(part.clone());
        }
        if replay.is_over(&at, parts) {
            live.replay = None;
            filled = Filled::Over;
        }
    }
    enter(draft, control, owner, Instant::now())?;
    Ok(filled)
}

/// `None`: there is no such owner.
pub fn resend(
    draft: &mut Draft,
    control: &mut Control,
    owner: &SubscriberId,
    bounds: &Bounds,
    now: u64,
) -> Result<Option<u64>, StoreError> {
    let Some(live) = draft.head(owner)?.live.clone() else { return Ok(None) };
    if live.status.state == State::Disabled {
        return Ok(Some(0));
    }
    let room = bounds.events.saturating_sub(live.depth).min(RESENT_MAX);
    let (mut bytes, mut resent) = (live.bytes, 0);
    for dead in draft.view.dead(&live, 0, room as usize)? {
        if !bounds.have_room(live.depth + resent, bytes, dead.event.len()) {
            break;
        }
        bytes += dead.event.len() as u64;
        draft.unbury(owner, dead.number, &dead.event)?;
        draft.push(owner, now, &dead.event)?;
        resent += 1;
    }
    enter(draft, control, owner, Instant::now())?;
    Ok(Some(resent))
}

/// An owner that has got events, unless it is in the control queue already.
fn enter(draft: &mut Draft, control: &mut Control, owner: &SubscriberId, due: Instant) -> Result<(), StoreError> {
    if draft.head(owner)?.live.as_ref().is_some_and(|live| live.has_work()) {
        control.enter_after_lease(owner, due);
    }
    Ok(())
}
