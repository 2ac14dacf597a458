//! Takes rows out of the hot store that the history store has.

use std::sync::Arc;

use super::{Applied, Apply, ListedUser, TokenSource, UserStore, Write};
use crate::hot_store::StoreError;
use crate::hot_store::cold_filter::ColdFilter;
use model::cold::ColdMark;
use model::ids::Content;
use model::transition::{Cause, Transition};

/// Rows that leave in one step.
const STEP: usize = 256;

/// The rows that left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trimmed {
    pub rows: u64,
    /// The user has changed meanwhile: the other rows stay.
    pub interrupted: bool,
}

/// Takes these rows of a user out of the store, as long as the user has not changed since it was read. The history store
/// was read after that, and has each of them, or a newer one. `filter`: all contents that it has; `None`: they are too
/// many.
///
/// # Errors
/// Rows may have left, now or later.
pub async fn trim(
    store: &impl UserStore,
    tokens: &TokenSource,
    mut user: ListedUser,
    leaving: &[Content],
    filter: Option<ColdFilter>,
    now: u64,
) -> Result<Trimmed, StoreError> {
    let mut trimmed = Trimmed::default();
    let filter: Option<Arc<[u8]>> = filter.map(|filter| filter.to_bytes().into());
    let mut first = Some(Write::ColdFilter { filter });
    for leaving in leaving.chunks(STEP) {
        let apply = step(store, tokens, &user, leaving, first.take(), now);
        let applied = store.apply(&[&apply]).await?.pop();
        if !matches!(applied, Some(Applied::Done { .. })) {
            return Ok(Trimmed { interrupted: true, ..trimmed });
        }
        trimmed.rows += leaving.len() as u64;
        user.has_left(apply.head, leaving);
    }
    Ok(trimmed)
}

fn step(
    store: &impl UserStore,
    tokens: &TokenSource,
    user: &ListedUser,
    leaving: &[Content],
    filter: Option<Write>,
    now: u64,
) -> Apply {
    let generations = store.generations();
    let (expected, mut head) = (user.head(), user.head());
    let mut writes: Vec<Write> = filter.into_iter().collect();
    writes.extend(leaving.iter().map(|content| Write::Remove { content: *content }));
    if let Some(head) = &mut head {
        let token = tokens.next(Some(head.token), now);
        head.renew(token);
        let rows = || leaving.iter().filter_map(|content| user.row(*content));
        let floor = rows().map(|row| row.newest()).chain(head.cold.map(|mark| mark.floor)).max().unwrap_or(0);
        head.cold = Some(ColdMark { floor, trimmed: token.version });
        let gone = rows().filter_map(|row| row.record.clone());
        let gone: Vec<_> = gone.map(|record| Transition::gone(user.user, record, Cause::Trim)).collect();
        let counts = generations.deltas(head.generation, gone.iter());
        writes.extend(counts.into_iter().map(|(generation, deltas)| Write::Count { generation, deltas, at: now }));
    }
    Apply { user: user.user, expected, head, writes, news: false, generations }
}
