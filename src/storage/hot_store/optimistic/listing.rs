//! Changes on their way to the history store: a user is listed in the step of the change, and unlisted after the change
//! was carried.
//!
//! The head of a listed user has a flag, the shard's list has the time when the user is due, and *marks* name the
//! contents that have changed outside the head, each with the version of the token that wrote it. So a beat that only
//! moves a position on writes nothing but the head: the row in the head is always carried along.

use super::head::{Head, Listing};
use super::writes::Write;
use model::change::{Action, Change};

/// The listing of a decision.
pub struct ListingRule {
    /// The time from the first change until the user is due, milliseconds; `None`: this gateway carries nothing, and
    /// lists only users that other gateways have listed before.
    pub interval: Option<u64>,
    /// The server's clock, milliseconds.
    pub now: u64,
}

impl ListingRule {
    /// Adds the writes that list the user. `head` has its new token, and still the listing from before.
    pub fn apply(&self, known: Option<&Head>, head: &mut Head, writes: &mut Vec<Write>, changes: Changes) {
        let before = head.listing;
        let is_carried = self.interval.is_some() || before != Listing::Unknown;
        if !is_carried || changes == Changes::Removals {
            return;
        }
        head.listing = Listing::Listed;
        let version = head.token.version;
        // The row that leaves the head unchanged was already carried as a part of the head.
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
            // Earlier writes of the user are unknown, so all contents are marked.
            marks.push(Write::Mark { content: None, version });
        }
        if before != Listing::Listed {
            marks.push(Write::List { due: self.now + self.interval.unwrap_or_default() });
        }
        writes.append(&mut marks);
    }
}

/// The kind of changes in a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    Any,
    /// Removals of expired and cleared rows. They are not carried, since the history store has its own expiry.
    Removals,
}

impl Changes {
    pub fn of<'c>(mut changes: impl Iterator<Item = &'c Change>) -> Self {
        let prunes = |change: &Change| matches!(change.action, Action::Prune { .. });
        if changes.all(prunes) { Changes::Removals } else { Changes::Any }
    }
}
