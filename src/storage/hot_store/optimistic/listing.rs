//! How changes leave the hot store: who has changed is listed in the step of the change, and unlisted once the change
//! was carried to the history store.
//!
//! Of a listed user the head says so, the shard's list has when the user is due, and *marks* name the contents that
//! have changed outside the head, each with the version of the token that wrote it. So a beat that only moves a
//! position on writes nothing but the head: the row in there is always carried along.

use super::head::{Head, Listing};
use super::writes::Write;
use crate::model::change::{Action, Change};

/// The listing of a decision.
pub struct ListingRule {
    /// From the first change to when the user is due, milliseconds; `None`: this gateway carries nothing, and lists
    /// only those whom others do.
    pub interval: Option<u64>,
    /// The server's clock, milliseconds.
    pub now: u64,
}

impl ListingRule {
    /// Adds to the writes what lists the user. `head` has its new token, and the listing that was before.
    pub fn apply(&self, known: Option<&Head>, head: &mut Head, writes: &mut Vec<Write>, changes: Changes) {
        let before = head.listing;
        let is_carried = self.interval.is_some() || before != Listing::Unknown;
        if !is_carried || changes == Changes::Removals {
            return;
        }
        head.listing = Listing::Listed;
        let version = head.token.version;
        // A row that leaves the head as it was carried in it.
        let carried = known.and_then(|head| head.current.as_ref()).filter(|_| before == Listing::Carried);
        let put = |write: &Write| match write {
            Write::Put { content, row }
                if carried.is_none_or(|known| (&known.0, &known.1.row) != (content, &row.row)) =>
            {
                Some(*content)
            }
            _ => None,
        };
        let mut marks: Vec<Write> =
            writes.iter().filter_map(put).map(|content| Write::Mark { content: Some(content), version }).collect();
        if before == Listing::Unknown && known.is_some() {
            // Of what was written before nothing is known.
            marks.push(Write::Mark { content: None, version });
        }
        if before != Listing::Listed {
            marks.push(Write::List { due: self.now + self.interval.unwrap_or_default() });
        }
        writes.append(&mut marks);
    }
}

/// What sort of changes a decision is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    Any,
    /// Of what no read returns any more: nothing of it is carried. The history store has its own expiry.
    Removals,
}

impl Changes {
    pub fn of<'c>(mut changes: impl Iterator<Item = &'c Change>) -> Self {
        let prunes = |change: &Change| matches!(change.action, Action::Prune { .. });
        if changes.all(prunes) { Changes::Removals } else { Changes::Any }
    }
}
