//! The rows of users that were read from the history store lately.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lru::LruCache;

use model::cold::ColdMark;
use model::ids::UserId;
use storage::history_store::HistoryUser;

/// So the pages of one list are cut from one read.
const KEPT_FOR: Duration = Duration::from_secs(60);
/// Rows of all users together; a row takes some 150 bytes.
const ROWS_MAX: usize = 200_000;
const USERS_MAX: NonZeroUsize = NonZeroUsize::new(10_000).expect("it is not 0");

/// Bounded by the number of rows.
pub struct Kept {
    users: LruCache<UserId, KeptUser>,
    rows: usize,
}

struct KeptUser {
    mark: ColdMark,
    until: Instant,
    history: Arc<HistoryUser>,
}

impl Default for Kept {
    fn default() -> Self {
        Kept { users: LruCache::new(USERS_MAX), rows: 0 }
    }
}

impl Kept {
    /// The user's rows, if they were read under this mark.
    pub fn get(&mut self, user: UserId, mark: ColdMark, now: Instant) -> Option<Arc<HistoryUser>> {
        let kept = self.users.get(&user)?;
        if kept.mark == mark && now < kept.until {
            return Some(kept.history.clone());
        }
        self.remove(user);
        None
    }

    pub fn put(&mut self, user: UserId, mark: ColdMark, history: Arc<HistoryUser>, now: Instant) {
        self.remove(user);
        self.rows += history.rows.len();
        let kept = KeptUser { mark, until: now + KEPT_FOR, history };
        if let Some((_, pushed_out)) = self.users.push(user, kept) {
            self.rows -= pushed_out.history.rows.len();
        }
        while self.rows > ROWS_MAX
            && let Some((_, oldest)) = self.users.pop_lru()
        {
            self.rows -= oldest.history.rows.len();
        }
    }

    fn remove(&mut self, user: UserId) {
        if let Some(removed) = self.users.pop(&user) {
            self.rows -= removed.history.rows.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history_packs::fixture::rows_at;
    use model::pack::PackedRow;
    use model::version::Version;

    fn mark(version: u64) -> ColdMark {
        ColdMark { floor: 1, trimmed: Version(version) }
    }

    fn history(rows: usize) -> Arc<HistoryUser> {
        let rows = rows_at(rows, 1_000, 1).iter().map(|(content, row)| PackedRow::of(*content, row)).collect();
        Arc::new(HistoryUser { forgetting: None, rows })
    }

    #[test]
    fn rows_are_kept_for_a_minute_and_under_their_mark() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        kept.put(UserId(1), mark(1), history(3), now);
        assert!(kept.get(UserId(1), mark(1), now + KEPT_FOR / 2).is_some());
        assert!(kept.get(UserId(1), mark(1), now + KEPT_FOR).is_none());
        kept.put(UserId(1), mark(1), history(3), now);
        assert!(kept.get(UserId(1), mark(2), now).is_none(), "more rows have left since");
        assert_eq!(kept.rows, 0);
    }

    #[test]
    fn the_rows_of_the_users_asked_for_longest_ago_go_first() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        let many = history(ROWS_MAX / 2);
        kept.put(UserId(1), mark(1), many.clone(), now);
        kept.put(UserId(2), mark(1), many.clone(), now);
        assert!(kept.get(UserId(1), mark(1), now).is_some());
        kept.put(UserId(3), mark(1), history(1), now);
        let there = [1, 2, 3].map(|user| kept.get(UserId(user), mark(1), now).is_some());
        assert_eq!(there, [true, false, true]);
    }
}
