//! Reads, on a thread of their own.

use std::time::Duration;

use super::head::{Head, Live};
use super::tables::View;
use model::subscribers::{State, SubscriberId, Unreadable};
use storage::owner_queues::{
    BYTES_MAX, Bounds, Dead, Number, Owner, Replay, Revision, Subscription, Subscriptions, Version,
};
use storage::store_error::StoreError;

/// The version of an id, and its owner.
type Record = (Version, Option<Result<Owner, Unreadable>>);

/// `now`: milliseconds since 1970.
pub fn owner(view: &View, id: SubscriberId, now: u64) -> Result<Record, StoreError> {
    let Head { version, live, .. } = match view.stored_head(&id)? {
        Ok(head) => head,
        Err(unreadable) => return Ok((Head::default().version, Some(Err(unreadable)))),
    };
    Ok((version, live.map(|live| shown(view, id, version, live, now)).transpose()?))
}

pub fn owners(view: &View, after: Option<SubscriberId>, limit: usize, now: u64) -> Result<Vec<Owner>, StoreError> {
    let mut owners = Vec::new();
    view.heads(after.as_ref(), |id, Head { version, live, .. }| {
        if let Some(live) = live.filter(|_| owners.len() < limit) {
            owners.extend(shown(view, id, version, live, now)?);
        }
        Ok(owners.len() < limit)
    })?;
    Ok(owners)
}

fn shown(
    view: &View,
    id: SubscriberId,
    version: Version,
    live: Live,
    now: u64,
) -> Result<Result<Owner, Unreadable>, StoreError> {
    let subscriber = match view.definition(&id)? {
        Ok(subscriber) => subscriber,
        Err(unreadable) => return Ok(Err(unreadable)),
    };
    let oldest = match live.depth {
        0 => None,
        _ => view.entries(&live, 1)?.first().map(|entry| entry.queued_at),
    };
    let next_try = live.status.failing.map(|_| Duration::from_millis(live.due.saturating_sub(now)));
    Ok(Ok(Owner {
        subscriber,
        id,
        incarnation: live.incarnation,
        version,
        status: live.status,
        depth: live.depth,
        oldest,
        next_try,
        delivered: live.delivered,
        dead: live.dead,
        replaying: live.replay.is_some(),
    }))
}

pub fn dead(view: &View, id: &SubscriberId, after: Number, limit: usize) -> Result<Option<Vec<Dead>>, StoreError> {
    let Some(live) = view.head(id)?.live else { return Ok(None) };
    let mut dead = view.dead(&live, after, limit)?;
    let mut bytes = 0;
    let fitting = dead.iter().take_while(|letter| {
        bytes += letter.event.len();
        bytes <= BYTES_MAX
    });
    let count = fitting.count().max(1);
    dead.truncate(count);
    Ok(Some(dead))
}

pub fn subscriptions(view: &View, Revision(since): &Revision) -> Result<Subscriptions, StoreError> {
    let (newest, ids) = view.changes(since.first().copied().unwrap_or_default())?;
    let subscription = |id: SubscriberId| {
        let Head { version, live: Some(live), .. } = view.head(&id)? else { return Ok((id, None)) };
        let Ok(subscriber) = view.definition(&id)? else { return Ok((id, None)) };
        let (incarnation, state) = (live.incarnation, live.status.state);
        let subscription = Subscription { id: id.clone(), incarnation, version, subscriber, state };
        Ok((id, Some(subscription)))
    };
    let changed = ids.into_iter().map(subscription).collect::<Result<_, StoreError>>()?;
    Ok(Subscriptions { revision: Revision(vec![newest]), changed })
}

pub fn replays(view: &View, bounds: &Bounds) -> Result<Vec<Replay>, StoreError> {
    let mut replays = Vec::new();
    view.heads(None, |owner, Head { version, live, .. }| {
        if let Some(live) = live.filter(|live| live.replay.is_some() && live.status.state != State::Disabled) {
            let Ok(subscriber) = view.definition(&owner)? else { return Ok(true) };
            let room_bytes = bounds.bytes.saturating_sub(live.bytes);
            let room = if room_bytes == 0 { 0 } else { bounds.events.saturating_sub(live.depth) };
            replays.push(Replay { owner, subscriber, version, at: live.at, room, room_bytes });
        }
        Ok(true)
    })?;
    Ok(replays)
}
