//! Users whose records are counted in the next generation of counters.

use std::collections::BTreeMap;

use super::{Applied, Apply, Load, Loaded, Need, TokenSource, UserStore, Write};
use crate::model::counters::{Deltas, Generation};
use crate::model::forgetting::ContentRow;
use crate::model::ids::{Content, UserId};
use crate::storage::hot_store::StoreError;

/// Counts all records of the users who are not in the next generation yet, each user in one step with the mark that says
/// so.
///
/// # Errors
/// Any of them may have been counted. To be called again.
pub async fn count(store: &impl UserStore, tokens: &TokenSource, users: &[UserId], now: u64) -> Result<(), StoreError> {
    let mut users = users.to_vec();
    while !users.is_empty() {
        let generations = store.generations();
        let Some(next) = &generations.next else { return Ok(()) };
        users = not_counted(store, users, next).await?;
        let load = |user: &UserId| Load { user: *user, needs: vec![Need::Head, Need::All] };
        let loaded = store.load(&users.iter().map(load).collect::<Vec<_>>()).await?;
        let mut counted = Vec::with_capacity(users.len());
        for (user, loaded) in users.iter().zip(loaded) {
            if let Some(why) = &loaded.unreadable {
                tracing::error!(event = "user_not_counted", error = %why, "a user cannot be read, and is not counted");
                continue;
            }
            let Some(known) = loaded.head.clone().flatten() else { continue };
            let deltas = deltas(*user, loaded, next);
            let mut head = known.clone();
            head.generation = next.number;
            head.renew(tokens.next(Some(known.token), now));
            let writes = match deltas.is_empty() {
                true => Vec::new(),
                false => vec![Write::Count { generation: next.number, deltas, at: now }],
            };
            let (expected, head, generations) = (Some(known), Some(head), generations.clone());
            counted.push(Apply { user: *user, expected, head, writes, news: false, generations });
        }
        let applied = store.apply(&counted.iter().collect::<Vec<_>>()).await?;
        // Another writer was first.
        let refused = |applied: &Applied| matches!(applied, Applied::Refused(_));
        users =
            counted.iter().zip(&applied).filter(|(_, applied)| refused(applied)).map(|(apply, _)| apply.user).collect();
    }
    Ok(())
}

/// Those with a head that is not of the next generation.
async fn not_counted(store: &impl UserStore, users: Vec<UserId>, next: &Generation) -> Result<Vec<UserId>, StoreError> {
    let load = |user: &UserId| Load { user: *user, needs: vec![Need::Head] };
    let loaded = store.load(&users.iter().map(load).collect::<Vec<_>>()).await?;
    let is_open = |loaded: &Loaded| {
        let head = loaded.head.as_ref().and_then(Option::as_ref);
        loaded.unreadable.is_some() || head.is_some_and(|head| head.generation != next.number)
    };
    Ok(users.into_iter().zip(&loaded).filter(|(_, loaded)| is_open(loaded)).map(|(user, _)| user).collect())
}

/// What the user's records amount to.
fn deltas(user: UserId, loaded: Loaded, next: &Generation) -> Deltas {
    let current = loaded.head.flatten().and_then(|head| head.current);
    let outside = loaded.rows.into_iter().filter_map(|(content, row)| Some((content, row?.row)));
    // A script that broke off may have left a row outside that is in the head, too.
    let mut rows: BTreeMap<Content, ContentRow> = outside.collect();
    rows.extend(current.map(|(content, stored)| (content, stored.row)));
    let mut deltas = Deltas::default();
    let records = rows.values().filter_map(|row| row.record.as_ref());
    records.for_each(|record| next.definitions.count(user, record, &mut deltas));
    deltas
}
