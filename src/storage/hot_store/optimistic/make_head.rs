//! Makes the head of a user after the hot store was lost.
//!
//! Nothing is refilled: all that the history store has of the user is cold from the start.

use super::head::Listing;
use super::{Applied, Apply, Head, Token, TokenSource, UserStore, Write};
use crate::history_store::HistoryUser;
use crate::hot_store::StoreError;
use crate::hot_store::cold_filter::ColdFilter;
use model::cold::ColdMark;
use model::forgetting::UserRow;
use model::ids::UserId;
use model::recording::Recording;
use model::retention::Retention;
use model::version::Version;

/// If the history store has no rows of a user, beats of the next seconds are still checked against it.
const NOTHING_FOUND_FOR_MS: u64 = 5_000;
/// Each time the generations of counters had changed.
const TRIES: usize = 5;

/// Makes the head of a user who had none when the history store was read, from what was found there. Returns the mark of
/// the head; `None`: another gateway has made one meanwhile.
///
/// # Errors
/// The head may have been made, or may be made later.
pub async fn make_head(
    store: &impl UserStore,
    tokens: &TokenSource,
    user: UserId,
    history: &HistoryUser,
    retention: Retention,
    now: u64,
) -> Result<Option<ColdMark>, StoreError> {
    for _ in 0..TRIES {
        let (head, mark) = head_of(history, tokens, store.generations().newest(), now);
        let mut writes = vec![Write::LookAt { at: retention.expires(now), exact: false }];
        if !history.rows.is_empty() {
            let filter = ColdFilter::of(history.rows.iter().map(|row| row.content));
            writes.push(Write::ColdFilter { filter: filter.map(|filter| filter.to_bytes().into()) });
        }
        let (head, generations) = (Some(Box::new(head)), store.generations());
        let apply = Apply { user, expected: None, head, writes, news: false, generations };
        match store.apply(&[&apply]).await?.pop() {
            Some(Applied::Done { .. }) => return Ok(Some(mark)),
            Some(Applied::Refused(Some(there))) => {
                let is_mine = apply.head.is_some_and(|made| there.includes(made.token));
                return Ok(Some(mark).filter(|_| is_mine));
            }
            Some(Applied::Unreadable(why)) => return Err(StoreError::Away(why)),
            Some(Applied::Refused(None) | Applied::NoRoom) | None => {}
        }
    }
    Err(StoreError::Away("the generations of counters keep changing".to_owned()))
}

/// `generation`: of counters, for a user without hot records.
fn head_of(history: &HistoryUser, tokens: &TokenSource, generation: u32, now: u64) -> (Head, ColdMark) {
    let told = history.forgetting.as_ref();
    // Versions of forgettings in the history store are those of tokens.
    let before = told.map_or(Version::NONE, |told| told.version);
    let token = tokens.next(Some(Token { version: before, writer: 0 }), now);
    let forgetting = told.map_or_else(UserRow::default, |told| UserRow {
        watermark: told.watermark,
        floor: told.floor,
        recording: Recording::from_parts(told.switches.clone(), 0),
        ..UserRow::default()
    });
    let newest = history.rows.iter().map(|row| row.newest()).max();
    let floor = newest.unwrap_or(now + NOTHING_FOUND_FOR_MS);
    let mark = ColdMark { floor, trimmed: token.version };
    let head = Head { token, listing: Listing::Carried, generation, forgetting, cold: Some(mark), ..Head::default() };
    (head, mark)
}
